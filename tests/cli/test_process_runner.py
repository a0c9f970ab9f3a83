"""The process runner starts programs and leaves no descendants."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.run.process_runner import Ending, Process, ProcessRunner
from support.processes import wait_until

#: Starts two grandchildren, one in another session, and prints their numbers.
FAMILY = "sleep 300 & echo $!; setsid sleep 300 & echo $!; "


@pytest.fixture
def runner() -> Iterator[ProcessRunner]:
    with ProcessRunner() as process_runner:
        yield process_runner


def shell(script: str) -> Process:
    return Process(["sh", "-c", script], os.environ)


def are_gone(output: str) -> bool:
    numbers = output.split()
    assert len(numbers) == 2
    return not any(Path(f"/proc/{number}").exists() for number in numbers)


@pytest.mark.parametrize(
    ("script", "outcome", "problem"),
    [
        ("exit 0", "exited", None),
        ("echo all well; echo out of paint >&2; exit 3", "exited", "exit status 3: out of paint"),
        ("kill -SEGV $$", "exited", "killed by SIGSEGV"),
        ("echo before; sleep 300", "timeout", "took more than 0.5 s"),
    ],
)
def test_the_ending_of_a_program(
    runner: ProcessRunner, script: str, outcome: str, problem: str | None
) -> None:
    ending = runner.run(shell(script), 0.5 if outcome == "timeout" else 60)
    assert (ending.outcome, ending.problem()) == (outcome, problem)
    assert bool(ending.output) == ("echo" in script)


def test_a_missing_program(runner: ProcessRunner) -> None:
    ending = runner.run(Process(["/nowhere/program"], {}), 60)
    assert ending.problem() == "cannot be started: No such file or directory"


@pytest.mark.parametrize("last", ["exit 0", "sleep 300"])
def test_the_whole_tree_is_killed(runner: ProcessRunner, last: str) -> None:
    ending = runner.run(shell(FAMILY + last), 1)
    assert ending.left == (2 if last == "exit 0" else 4)
    assert are_gone(ending.output)


def test_descendants_run_until_they_are_cleared(runner: ProcessRunner) -> None:
    ending = runner.run(shell(FAMILY), 60, clear=False)
    assert not are_gone(ending.output)
    assert runner.clear() == 2
    assert are_gone(ending.output)


def test_lines_arrive_while_the_program_runs(runner: ProcessRunner, tmp_path: Path) -> None:
    """The program waits for a file, which is made when its first line has arrived."""
    ready = tmp_path / "ready"
    script = f"echo first; until [ -e {ready} ]; do sleep 0.01; done; echo second"
    script += "; printf cut; exit 4"
    running = runner.stream(shell(script), 60)
    lines = []
    for line in running:
        ready.touch()
        lines.append(line)
    assert lines == ["first", "second"]
    assert running.ending.problem() == "exit status 4"


def test_silence_ends_the_program(runner: ProcessRunner) -> None:
    running = runner.stream(shell("echo line; sleep 300"), 60, silence=0.3)
    assert list(running) == ["line"]
    assert running.ending.outcome == "silent"


def test_closing_the_stream_ends_the_program(runner: ProcessRunner) -> None:
    numbers = []
    for line in runner.stream(shell(FAMILY + "sleep 300"), 60):
        numbers.append(line)
        if len(numbers) == 2:
            break
    assert are_gone("\n".join(numbers))
    assert runner.run(shell("exit 0"), 60) == Ending("aborted", limit=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_no_descendant_outlives_the_runner(number: signal.Signals, tmp_path: Path) -> None:
    """Descendants end after an interrupt, and after SIGKILL."""
    out = tmp_path / "out"
    script = (
        "import os; from pathlib import Path\n"
        "from lockwright.run.process_runner import Process, ProcessRunner\n"
        f"words = ['sh', '-c', {FAMILY + 'sleep 300'!r}]\n"
        f"ProcessRunner().run(Process(words, os.environ, out=Path({str(out)!r})), 300)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: out.exists() and out.read_text().count("\n") >= 2)
        process.send_signal(number)
        process.wait(60)
    wait_until(lambda: are_gone(out.read_text()))
