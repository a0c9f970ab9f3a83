"""An interrupted comparison: no process is left, no run is lost, --resume completes it."""

import shlex
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from support import tiers
from support.processes import running, wait_until

from .conftest import Cli, Program

LIMIT = 60.0


class Interrupted:
    """A comparison that is stopped by a signal after some runs."""

    def __init__(
        self, command: list[str], environment: dict[str, str], program: Path, db: Path
    ) -> None:
        self.db = db
        self.words = [
            "--locks",
            "ttas,futex",
            "--runs",
            "4",
            "--warm-up-runs",
            "0",
            "--db",
            str(db),
        ]
        self.words += ["--", str(program), "1", "10", "300"]
        self.process = subprocess.Popen(
            [*command, "compare", *self.words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def runs(self) -> list[tuple[str, int, str]]:
        """Return the lock, round and start of every stored run."""
        if not self.db.exists():
            return []
        base = sqlite3.connect(self.db, timeout=20)
        try:
            return base.execute(
                "SELECT contender, round, started FROM run ORDER BY rowid"
            ).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            base.close()

    def stop_after(self, count: int, number: signal.Signals) -> tuple[str, str]:
        """Send the signal once so many runs are stored; return standard output and error."""

        def stored() -> bool:
            assert self.process.poll() is None, self.process.communicate()
            return len(self.runs()) >= count

        wait_until(stored)
        self.process.send_signal(number)
        return self.process.communicate(timeout=LIMIT)


@pytest.fixture
def interrupted(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> Interrupted:
    return Interrupted(command, environment, program("worker"), tmp_path / "results.sqlite")


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize(
    "number", tiers.short(SIGNALS, [signal.SIGTERM], "one function handles all three")
)
def test_an_interruption_prints_how_to_resume(
    cli: Cli, command: list[str], interrupted: Interrupted, number: signal.Signals
) -> None:
    """One line has the exact command, which does not repeat the stored runs."""
    out, err = interrupted.stop_after(3, number)
    assert interrupted.process.returncode == 128 + number
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("lockwright: interrupted")
    assert "Traceback" not in err
    stored = interrupted.runs()
    assert 3 <= len(stored) < 12
    words = shlex.split(last.partition("continue with: ")[2])
    assert words[: len(command) + 2] == [*command, "compare", "--resume"]
    result = cli(*words[len(command) :])
    assert result.status == 0, result.err
    runs = interrupted.runs()
    assert runs[: len(stored)] == stored
    assert len(runs) == len({run[:2] for run in runs}) == 12
    assert "ttas" in result.out


def test_a_killed_comparison_can_be_resumed(cli: Cli, interrupted: Interrupted) -> None:
    interrupted.stop_after(3, signal.SIGKILL)
    stored = interrupted.runs()
    result = cli("compare", "--resume", *interrupted.words)
    assert result.status == 0, result.err
    runs = interrupted.runs()
    assert runs[: len(stored)] == stored
    assert len(runs) == len({run[:2] for run in runs}) == 12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_program_is_killed_with_its_descendants(
    command: list[str],
    environment: dict[str, str],
    program: Program,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    pids = tmp_path / "pids"
    options = ["compare", "--locks", "ttas", "--timeout", "600", "--"]
    process = subprocess.Popen(
        [*command, *options, str(program("family")), str(pids), "ttas"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    wait_until(lambda: pids.exists() and pids.read_text())
    process.send_signal(number)
    process.communicate(timeout=LIMIT)
    wait_until(lambda: not running(pids))


def test_resume_with_other_options_is_refused(cli: Cli, interrupted: Interrupted) -> None:
    """The message names an option that differs."""
    interrupted.stop_after(1, signal.SIGINT)
    words = interrupted.words
    stored = interrupted.runs()
    cli("compare", "--resume", "--timeout", "9", *words).refuses("--timeout")
    cli("compare", "--resume", *words[:3], "5", *words[4:]).refuses("--runs")
    cli("compare", "--resume", *words[:-1], "301").refuses("no interrupted comparison")
    assert interrupted.runs() == stored


def test_resume_of_a_running_comparison_is_refused(cli: Cli, interrupted: Interrupted) -> None:
    wait_until(interrupted.runs)
    cli("compare", "--resume", *interrupted.words).refuses(str(interrupted.process.pid))
    interrupted.stop_after(1, signal.SIGINT)
