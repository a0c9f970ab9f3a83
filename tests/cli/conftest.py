"""The command as a user runs it, and small programs to run it on."""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.processes import assert_refused, captured

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Result:
    """How a command ended. status: negative if a signal killed it."""

    status: int
    out: str
    err: str

    def refuses(self, *parts: str) -> None:
        """Asserts one line of explanation that has all of `parts`, and status 2."""
        assert_refused(self.status, self.out, self.err, *parts)


Cli = Callable[..., Result]
Program = Callable[..., Path]


def on_a_terminal(
    words: list[str], environment: dict[str, str], columns: int, both: bool = True
) -> tuple[str, int]:
    """Return what a terminal of that width receives from a command, without colours, and the
    status.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        words,
        stdin=slave,
        stdout=slave,
        stderr=slave if both else subprocess.DEVNULL,
        # COLUMNS, which a parallel run of the tests sets, would count for more than the terminal.
        env={k: v for k, v in environment.items() if k != "COLUMNS"} | {"TERM": "xterm"},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            some = os.read(master, 65536)
        except OSError:
            break
        if not some:
            break
        shown += some
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    return text.replace("\r\n", "\n"), process.wait(60)


@pytest.fixture(scope="session")
def command() -> list[str]:
    """The words that start the command: what is installed beside this Python, or the package."""
    beside = Path(sys.executable).with_name("lockwright")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "lockwright"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose results and settings are in a directory of the test."""
    variables = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return variables | {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


@pytest.fixture
def cli(command: list[str], environment: dict[str, str]) -> Cli:
    """Runs the command to its end, with pipes for all three streams."""

    def run(
        *words: str | Path,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        limit: float = 120,
    ) -> Result:
        done = captured(
            [*command, *map(str, words)],
            input=stdin,
            timeout=limit,
            env=environment | dict(env or {}),
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Compiles one of the programs beside this file, once per name and flags."""
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
