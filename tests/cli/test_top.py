"""`lockwright top` shows what a program's threads wait for, and redirects the program's output."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from support import locate
from support.processes import captured, compiled

from .conftest import Cli, Program


def test_a_line_for_each_interval(cli: Cli, program: Program, tmp_path: Path) -> None:
    """A line has the mutex and its waiters; the summary and the program's status follow."""
    log = tmp_path / "log"
    result = cli("top", "--interval", "0.2", "-o", log, "--", program("queueing"), "800")
    assert result.status == 3, result.err
    lines = result.out.splitlines()
    assert len(lines) > 2
    assert all(re.search(r": \d of \d threads wait; .* lost a second", each) for each in lines)
    named = [each for each in lines if "queued_for" in each]
    assert named
    assert any("1 waiting" in each for each in named)
    assert any("% of the time in which threads ran or waited)" in each for each in named)
    assert any("held at pass" in each for each in named)
    assert "lost waiting" in result.err
    assert "queued_for" in result.err
    assert f"the program's output is in {log}" in result.err
    assert log.read_text() == "begins\nends\n"


def test_other_objects(cli: Cli, tmp_path: Path) -> None:
    """A line has those for which threads waited longest, with their kind and waiters."""
    words = ["top", "--interval", "0.1", "-o", tmp_path / "log", "--"]
    result = cli(*words, locate.program("profile", "waits"))
    assert result.status == 0, result.err
    shown = re.findall(r"(\w+) [0-9.]+ .?s/s \(([a-z ]+), [01] waiting\)", result.out)
    # Threads wait as long for each of the first four, of which a line has any two.
    kinds = {
        "condition": "condition variable",
        "semaphore": "semaphore",
        "barrier": "barrier",
        "word": "futex",
        "join_threads": "end of threads",
    }
    found = {name: kind for name, kind in shown if name in kinds}
    assert found.items() <= kinds.items()
    assert len(found) > 1


def test_sampled_objects(cli: Cli, tmp_path: Path) -> None:
    """A line has those that no interposition sees, with the number of samples."""
    source = Path(__file__).parents[1] / "profile" / "sampled.c"
    sampled = compiled(tmp_path, "sampled", source.read_text())
    words = ["top", "--interval", "0.2", "-o", tmp_path / "log", "--"]
    result = cli(*words, sampled, tmp_path / "written")
    assert result.status == 0, result.err
    named = rf"(word|inherited|stdio stream of {tmp_path / 'written'})"
    found = re.findall(rf"{named} [0-9.]+ .?s/s \([Ca-z ]+ \(\d+ samples?\), [01]", result.out)
    assert len(set(found)) > 1


def test_other_objects_of_a_running_process(
    command: list[str], environment: dict[str, str]
) -> None:
    """Two threads wait for a mutex, and one for a futex that is none, until the input ends."""
    sleepers = locate.program("profile", "sleepers")
    with subprocess.Popen([sleepers], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        assert target.stdin is not None
        assert target.stdout is not None
        target.stdout.readline()
        words = [*command, "top", "--interval", "0.3", "--pid", str(target.pid)]
        with subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, text=True
        ) as observer:
            assert observer.stdout is not None
            lines = [observer.stdout.readline() for _ in range(3)]
            target.stdin.close()
            observer.stdout.read()
    assert re.search(r"wanted [0-9.]+ s/s \(2 waiting", lines[-1])
    assert re.search(r"foreign .*samples\), 1 waiting", lines[-1])


def test_without_a_file_the_output_goes_to_a_named_log(cli: Cli, program: Program) -> None:
    result = cli("top", "--", program("queueing"), "20")
    assert result.status == 3
    found = re.search(r"the program's output is in (.*)$", result.err, re.MULTILINE)
    assert found
    assert Path(found[1]).read_text() == "begins\nends\n"
    Path(found[1]).unlink()


def test_a_closed_pipe_does_not_end_the_program(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """The summary and the program's status are still reported."""
    words = [*command, "top", "--interval", "0.1", "-o", str(tmp_path / "log"), "--"]
    with subprocess.Popen(
        [*words, str(program("queueing")), "400"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as top:
        assert top.stdout is not None
        assert top.stderr is not None
        assert "threads wait; " in top.stdout.readline()
        top.stdout.close()
        message = top.stderr.read()
        assert top.wait(60) == 3
    assert "queued_for" in message
    assert "Traceback" not in message
    assert (tmp_path / "log").read_text() == "begins\nends\n"


def test_a_key_ends_it_on_a_terminal(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """The terminal's settings are restored."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    before = termios.tcgetattr(slave)
    words = ["top", "--interval", "0.2", "-o", str(tmp_path / "log"), "--"]
    with subprocess.Popen(
        [*command, *words, str(program("queueing")), "1000000"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={k: v for k, v in environment.items() if k != "COLUMNS"} | {"TERM": "xterm"},
    ) as process:
        received = b""
        while b"queued_for" not in received or b"q ends the program" not in received:
            received += os.read(master, 65536)
        os.write(master, b"q")
        while b"the program's output is in" not in received:
            received += os.read(master, 65536)
        assert process.wait(60) == 0
    assert termios.tcgetattr(slave) == before
    os.close(slave)
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", received.decode())
    for heading in ("mutex", "lost", "waiting", "contended", "held at"):
        assert heading in text
    assert "1000000" in text


def test_a_running_process(
    command: list[str], environment: dict[str, str], program: Program
) -> None:
    """It is observed until it ends, or until the pipe is closed."""
    with subprocess.Popen([program("queueing"), "2500"], stdout=subprocess.PIPE) as target:
        assert target.stdout is not None
        target.stdout.readline()
        words = [*command, "top", "--interval", "0.2", "--pid", str(target.pid)]
        with subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, text=True
        ) as observer:
            assert observer.stdout is not None
            assert "of 2 threads wait; " in observer.stdout.readline()
            observer.stdout.close()
            assert observer.wait(60) == 0
        assert target.poll() is None
        result = captured(words, env=environment)
    assert result.returncode == 0
    assert result.stderr == f"lockwright: process {target.pid} has ended\n"
    named = [each for each in result.stdout.splitlines() if "queued_for" in each]
    assert named
    assert all("waited for at pass)" in each for each in named)
    held = [re.search(r"held by queueing \(thread \d+\), \w+", each) for each in named]
    # All samples of an interval may have come between two holders.
    assert 2 * sum(each is not None for each in held) > len(named)


def test_a_running_process_whose_waiters_do_not_sleep(
    cli: Cli, environment: dict[str, str], program: Program
) -> None:
    library = cli("path", "ttas").out.strip()
    variables = environment | {"LD_PRELOAD": library}
    with subprocess.Popen(
        [program("queueing"), "1500"], stdout=subprocess.PIPE, env=variables
    ) as target:
        assert target.stdout is not None
        target.stdout.readline()
        profiled = cli("profile", "--pid", str(target.pid), "--seconds", "0.2")
        shown = cli("top", "--interval", "0.3", "--pid", str(target.pid))
    for result in (profiled, shown):
        assert result.status == 0
        assert "it runs under ttas, whose waiters do not sleep, so none is seen" in result.err


def test_the_status_of_a_program_without_mutexes(cli: Cli, tmp_path: Path) -> None:
    for program, status in (("true", 0), ("false", 1)):
        result = cli("top", "-o", tmp_path / "log", "--", program)
        assert result.status == status
        assert "the program took no mutex" in result.err
