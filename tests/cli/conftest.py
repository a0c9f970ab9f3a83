"""Fixtures that run the command as a user does, and compile small programs to run it on."""

import fcntl
import os
import pty
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lockwright import cli as main_module
from support.processes import assert_refused, captured

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Result:
    """The status and output of a command. status: negative if a signal killed it."""

    status: int
    out: str
    err: str

    def refuses(self, *parts: str) -> None:
        """Assert status 2 and one line of explanation that has all of `parts`."""
        assert_refused(self.status, self.out, self.err, *parts)


Cli = Callable[..., Result]
Refuses = Callable[..., None]
Program = Callable[..., Path]


def count_runs(base: Path) -> int:
    """Return the number of runs in the results file."""
    if not base.exists():
        return 0
    connection = sqlite3.connect(base, timeout=20)
    try:
        return int(connection.execute("SELECT count(*) FROM run").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def on_a_terminal(
    words: list[str], environment: dict[str, str], columns: int, both: bool = True
) -> tuple[str, int]:
    """Return a command's output to a terminal of that width, without colours, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        words,
        stdin=slave,
        stdout=slave,
        stderr=slave if both else subprocess.DEVNULL,
        # COLUMNS, which a parallel run of the tests sets, would override the terminal's width.
        env={k: v for k, v in environment.items() if k != "COLUMNS"} | {"TERM": "xterm"},
    )
    os.close(slave)
    received = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        received += data
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", received.decode())
    return text.replace("\r\n", "\n"), process.wait(60)


@pytest.fixture(scope="session")
def command() -> list[str]:
    """Return the words that start the command: that beside this Python, or the package."""
    beside = Path(sys.executable).with_name("lockwright")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "lockwright"]


def environment_in(folder: Path) -> dict[str, str]:
    """Return an environment whose results and settings are in a folder."""
    variables = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return variables | {
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment whose results and settings are in a directory of the test."""
    return environment_in(tmp_path)


def runner(command: list[str], environment: dict[str, str]) -> Cli:
    """Return a function that runs the command to its end, with pipes for all three streams."""

    def run(
        *words: str | Path,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        limit: float = 120,
    ) -> Result:
        result = captured(
            [*command, *map(str, words)],
            input=stdin,
            timeout=limit,
            env=environment | dict(env or {}),
        )
        return Result(result.returncode, result.stdout, result.stderr)

    return run


@pytest.fixture
def cli(command: list[str], environment: dict[str, str]) -> Cli:
    """Return a function that runs the command, with settings of the test."""
    return runner(command, environment)


@pytest.fixture(scope="module")
def shared_cli(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Return the same for what several tests read."""
    return runner(command, environment_in(tmp_path_factory.mktemp("shared")))


@pytest.fixture
def refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Refuses:
    """Return a function that runs the command's words in this process, and asserts that they are
    refused by one line that has all of `parts`."""
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))

    def run(words: Sequence[str | Path], *parts: str) -> None:
        status = main_module.main([str(word) for word in words])
        out, err = capfd.readouterr()
        assert_refused(status, out, err, *parts)

    return run


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return a function that compiles one of the programs, once per name and flags."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler is not None, "no C compiler"
    folder = tmp_path_factory.mktemp("programs")

    def compile_(name: str, *flags: str) -> Path:
        target = folder / "".join([name, *flags])
        if not target.exists():
            source = PROGRAMS / f"{name}.c"
            subprocess.run(
                [compiler, "-O1", "-pthread", *flags, str(source), "-o", str(target)], check=True
            )
        return target

    return compile_
