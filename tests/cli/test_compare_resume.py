"""An interrupted comparison: nothing stays behind, nothing measured is lost, --resume ends it."""

import os
import shlex
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import Cli, Program

LIMIT = 60.0


class Interrupted:
    """A comparison that is stopped by a signal after some runs."""

    def __init__(
        self, command: list[str], environment: dict[str, str], program: Path, db: Path
    ) -> None:
        self.db = db
        self.words = ["--locks", "ttas,futex", "--runs", "4", "--warmup", "0", "--db", str(db)]
        self.words += ["--", str(program), "1", "10", "300"]
        self.process = subprocess.Popen(
            [*command, "compare", *self.words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def runs(self) -> list[tuple[str, int, str]]:
        """Lock, round and time of start of every run kept so far."""
        if not self.db.exists():
            return []
        base = sqlite3.connect(self.db, timeout=20)
        try:
            return base.execute("SELECT lock, round, started FROM run ORDER BY rowid").fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            base.close()

    def stop_after(self, count: int, number: signal.Signals) -> tuple[str, str]:
        """Sends the signal once that many runs are kept; standard output and error."""
        deadline = time.monotonic() + LIMIT
        while len(self.runs()) < count:
            assert time.monotonic() < deadline
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.02)
        self.process.send_signal(number)
        return self.process.communicate(timeout=LIMIT)


@pytest.fixture
def interrupted(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> Interrupted:
    return Interrupted(command, environment, program("worker"), tmp_path / "results.sqlite")


def gone(text: str | Path) -> bool:
    """Return whether, within a while, no process has `text` on its command line."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        lines = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(entry.read_bytes())
            except OSError:
                continue
        if not any(os.fsencode(text) in line for line in lines):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_says_how_to_resume_and_that_works(
    cli: Cli, command: list[str], interrupted: Interrupted, number: signal.Signals
) -> None:
    """Status 128 + signal, one line with the exact command, and its runs are not made again."""
    out, err = interrupted.stop_after(3, number)
    assert interrupted.process.returncode == 128 + number
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("lockwright: interrupted")
    assert "Traceback" not in err
    kept = interrupted.runs()
    assert 3 <= len(kept) < 12
    words = shlex.split(last.partition("continue with: ")[2])
    assert words[: len(command) + 2] == [*command, "compare", "--resume"]
    result = cli(*words[len(command) :])
    assert result.status == 0, result.err
    runs = interrupted.runs()
    assert runs[: len(kept)] == kept
    assert len(runs) == len({run[:2] for run in runs}) == 12
    assert "ttas" in result.out


def test_after_a_kill_resume_goes_on(cli: Cli, interrupted: Interrupted) -> None:
    """`kill -9` of the command: what was measured is there, and is not measured again."""
    interrupted.stop_after(3, signal.SIGKILL)
    kept = interrupted.runs()
    result = cli("compare", "--resume", *interrupted.words)
    assert result.status == 0, result.err
    runs = interrupted.runs()
    assert runs[: len(kept)] == kept
    assert len(runs) == len({run[:2] for run in runs}) == 12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_would_run_on_is_killed_with_its_descendants(
    command: list[str],
    environment: dict[str, str],
    program: Program,
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    """However the comparison is ended, nothing is left to disturb what comes next."""
    pids = tmp_path / "pids"
    options = ["compare", "--locks", "ttas", "--timeout", "600", "--"]
    process = subprocess.Popen(
        [*command, *options, str(program("family")), str(pids), "ttas"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    deadline = time.monotonic() + LIMIT
    while not pids.exists() or not pids.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=LIMIT)
    assert gone(pids)


def test_resume_with_other_options_is_refused_and_names_one(
    cli: Cli, interrupted: Interrupted
) -> None:
    """Mixing two plans would be no comparison."""
    interrupted.stop_after(1, signal.SIGINT)
    words = interrupted.words
    kept = interrupted.runs()
    cli("compare", "--resume", "--timeout", "9", *words).refuses("--timeout")
    cli("compare", "--resume", *words[:3], "5", *words[4:]).refuses("--runs")
    cli("compare", "--resume", *words[:-1], "301").refuses("no interrupted comparison")
    assert interrupted.runs() == kept


def test_resume_of_what_is_still_running_is_refused(cli: Cli, interrupted: Interrupted) -> None:
    """Two processes must not make the same runs."""
    deadline = time.monotonic() + LIMIT
    while not interrupted.runs():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    cli("compare", "--resume", *interrupted.words).refuses(str(interrupted.process.pid))
    interrupted.stop_after(1, signal.SIGINT)
