"""`lockwright run`: the program behaves as without it, and --stats prints its counts."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lockwright.preload.locks import DEFAULT_LOCK, registry
from support import tiers
from support.processes import shell_script

from .conftest import Cli, Program

MODES = pytest.mark.parametrize("mode", [[], ["--stats"]], ids=["plain", "stats"])


def stats(err: str) -> dict[str, str]:
    """Return the labels and figures of the table that --stats prints."""
    return dict(re.findall(r"^  ([a-zA-Z ]+?) {2,}(\d[\d,]*)", err, re.MULTILINE))


@MODES
@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_the_exit_status_is_the_programs(
    cli: Cli, program: Program, mode: list[str], status: int
) -> None:
    assert cli("run", "--lock", "ttas", *mode, "--", program("ends"), str(status)).status == status


@MODES
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGINT])
def test_it_dies_by_the_signal_that_killed_the_program(
    cli: Cli, program: Program, mode: list[str], number: signal.Signals
) -> None:
    result = cli("run", "--lock", "ttas", *mode, "--", program("ends"), str(-number))
    assert result.status == -number


@MODES
def test_a_pipe_carries_only_the_output_of_the_program(
    command: list[str], environment: dict[str, str], program: Program, mode: list[str]
) -> None:
    """Bytes pass unchanged through two programs under locks."""
    data = bytes(range(256)) * 4000
    copy = f"{program('ends')} && exec cat"
    words = [*command, "run", "--lock", "mcs-stp", *mode, "--", "sh", "-c", copy]
    pipeline = '"$@" | "$@"'
    done = subprocess.run(
        ["sh", "-c", pipeline, "sh", *words],
        input=data,
        capture_output=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == data


@MODES
def test_options_of_the_program_are_passed_to_it(
    cli: Cli, program: Program, mode: list[str], tmp_path: Path
) -> None:
    """Without `--`, words after the program's name are its own."""
    script = shell_script(tmp_path / "echo-words", f'{program("ends")}\necho "$@"')
    result = cli("run", "--lock", "ttas", *mode, script, "--stats", "--lock")
    assert result.out == "--stats --lock\n"


def test_an_earlier_preload_follows_the_lock(cli: Cli) -> None:
    library = cli("path", "ticket").out.strip()
    words = ["run", "--lock", "ticket", "--", "sh", "-c", "echo $LD_PRELOAD"]
    assert cli(*words, env={"LD_PRELOAD": "libm.so.6"}).out == f"{library}:libm.so.6\n"


def test_without_a_lock_the_default_is_used(cli: Cli, program: Program) -> None:
    """Exactly one lock states that it is the default."""
    assert [lock.name for lock in registry() if lock.is_default] == [DEFAULT_LOCK]
    result = cli("run", "--stats", "--", program("counted"))
    assert result.status == 0
    assert result.err.startswith("lockwright: adaptive\n")


@pytest.mark.parametrize(
    "lock",
    tiers.short(
        ["pthread", "adaptive", "futex", "ttas", "ticket", "mcs-stp", "clh-stp"],
        ["pthread", "adaptive", "mcs-stp"],
        "the counters are in the preload library",
    ),
)
def test_stats_counts_exactly(cli: Cli, program: Program, lock: str) -> None:
    """The program makes a known number of each call."""
    result = cli("run", "--lock", lock, "--stats", "--", program("counted"))
    assert result.status == 0, result.err
    figures = stats(result.err)
    # The number of futex calls depends on the lock.
    figures.pop("futex waits")
    figures.pop("futex wakes")
    assert figures == {
        "processes": "1",
        "mutexes": "3",
        "acquisitions": "115",
        "contended": "2",
        "condvar waits": "2",
        "failed trylocks": "4",
        "handed to the C library": "5",
    }
    assert "did not resolve" not in result.err


def test_stats_sums_the_process_tree(cli: Cli, program: Program) -> None:
    """The shell runs the program twice: three processes, twice the acquisitions."""
    worker = program("worker")
    script = f"{worker} 2 500; {worker} 2 500; :"
    result = cli("run", "--lock", "futex", "--stats", "--", "sh", "-c", script)
    figures = stats(result.err)
    assert figures["processes"] == "3"
    assert figures["acquisitions"] == "2,000"


def test_stats_name_a_process_that_still_runs(cli: Cli, program: Program) -> None:
    script = f"{program('worker')} 2 500 1500 <&- >&- 2>&- & sleep 0.5"
    result = cli("run", "--lock", "futex", "--stats", "--", "sh", "-c", script)
    assert stats(result.err)["acquisitions"] == "1,000"
    assert "still runs in the background, and is counted up to here" in result.err


def test_stats_of_a_failing_program_are_printed(cli: Cli, program: Program) -> None:
    result = cli("run", "--lock", "futex", "--stats", "--", program("ends"), "3")
    assert result.status == 3
    assert stats(result.err)["acquisitions"] == "1"


def test_stats_leaves_no_file(cli: Cli, program: Program) -> None:
    script = f"{program('ends')}; ls $LOCKWRIGHT_STATS"
    file = Path(cli("run", "--lock", "futex", "--stats", "--", "sh", "-c", script).out.strip())
    assert file.parent.name.startswith("lockwright-")
    assert not file.parent.exists()


@MODES
@pytest.mark.parametrize(
    ("index", "number"),
    [
        (0, signal.SIGINT),
        (1, signal.SIGTERM),
        (2, signal.SIGHUP),
        (3, signal.SIGQUIT),
        (4, signal.SIGUSR1),
        (5, signal.SIGUSR2),
    ],
)
def test_signals_reach_the_program(
    command: list[str], program: Program, mode: list[str], index: int, number: signal.Signals
) -> None:
    """The program handles a signal sent to the command, and its status is passed on."""
    process = subprocess.Popen(
        [*command, "run", "--lock", "ttas", *mode, "--", str(program("waits"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    # Not `communicate`, which closes the input: the signal has to end the program.
    process.wait(60)
    process.communicate()
    assert process.returncode == 40 + index


@MODES
def test_it_stops_and_continues_with_the_program(
    command: list[str], program: Program, mode: list[str]
) -> None:
    """SIGTSTP stops both, and SIGCONT continues both."""
    process = subprocess.Popen(
        [*command, "run", "--lock", "ttas", *mode, "--", str(program("waits"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # In an orphaned process group the system ignores SIGTSTP.
        process_group=0,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_program_without_mutexes_keeps_its_status_with_stats(cli: Cli, program: Program) -> None:
    """A message states that no mutex was taken."""
    result = cli("run", "--lock", "ttas", "--stats", "--", program("idle"))
    assert result.status == 0
    assert result.out == "idle\n"
    assert len(result.err.splitlines()) == 1
    assert "took no mutex" in result.err


def test_a_library_that_was_not_loaded_is_reported(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """The message differs from that about a program without mutexes."""
    locks = Path(cli("path", "ttas").out.strip()).parent
    (tmp_path / "counting").mkdir()
    for name in ("locks.json", "layouts.json", "liblockwright-ttas.so"):
        (tmp_path / name).symlink_to(locks / name)
    # An empty library leaves the counters as one that was not loaded does.
    (tmp_path / "counting" / "liblockwright-ttas.so").symlink_to(program("empty", "-shared"))
    result = cli(
        *["run", "--lock", "ttas", "--stats", "--", program("ends")],
        env={"LOCKWRIGHT_LIBDIR": str(tmp_path)},
    )
    assert result.status == 0
    assert len(result.err.splitlines()) == 1
    assert "never loaded" in result.err


@pytest.mark.full("each lock runs programs of tests/posix")
def test_every_lock_runs_a_program_to_the_right_result(cli: Cli, program: Program) -> None:
    """The program's critical sections increment a counter."""
    for row in json.loads(cli("list", "--json", "-").out):
        result = cli("run", "--lock", row["name"], "--", program("worker"), "3", "2000")
        assert "sum: 6000\n" in result.out, row["name"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_repeated_signal_after_the_end_of_the_program(
    cli: Cli, program: Program, number: signal.Signals
) -> None:
    """The program's status and counts are reported despite signals, as `timeout` sends them."""
    code = (
        "import os, signal, subprocess, sys; us, number = os.getppid(), int(sys.argv[1])\n"
        "signal.signal(number, signal.SIG_IGN)\n"
        "subprocess.run([sys.argv[2]])\n"
        "words = 'import os, time\\nfor _ in range(600): time.sleep(.002); os.kill(%d, %d)'\n"
        "subprocess.Popen([sys.executable, '-c', words % (us, number)], start_new_session=True,"
        " env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "import time; time.sleep(.1); os._exit(5)"
    )
    words = ["run", "--lock", "futex", "--stats", "--", sys.executable, "-c", code]
    done = cli(*words, str(int(number)), program("ends"))
    assert done.status == 5
    assert "acquisitions" in done.err


def test_counters_that_the_program_removes(cli: Cli, program: Program) -> None:
    """The status is still the program's."""
    script = f"{program('ends')}; rm $LOCKWRIGHT_STATS; exit 5"
    result = cli("run", "--lock", "futex", "--stats", "--", "sh", "-c", script)
    assert result.status == 5
    problem = "the counters file has disappeared: No such file or directory"
    assert result.err == f"lockwright: {problem}\n"
