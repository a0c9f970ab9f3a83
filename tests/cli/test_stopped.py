"""Commands that run a program to its end continue with it, whichever process stopped it."""

import os
import pty
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.processes import captured

from .conftest import Program

COMMANDS = {
    "profile": ["profile"],
    "stats": ["run", "--lock", "ttas", "--stats"],
    "top": ["top", "-o", "log"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"start_new_session": True}, {"process_group": 0}],
    ids=["same group", "own session", "own group"],
)
def test_a_program_that_another_process_stops_and_continues(
    command: list[str],
    environment: dict[str, str],
    program: Program,
    words: list[str],
    options: dict[str, Any],
    tmp_path: Path,
) -> None:
    """In a process group of its own, the command seems to be a shell's job, but nobody continues
    it."""
    result = captured(
        [*command, *words, "--", program("stopped")],
        env=environment,
        cwd=tmp_path,
        timeout=30,
        **options,
    )
    assert result.returncode == 0, result.stderr
    output = (tmp_path / "log").read_text() if "top" in words else result.stdout
    assert output == "ok\n"


def test_job_control_of_a_shell(
    command: list[str], environment: dict[str, str], program: Program
) -> None:
    """Ctrl-Z returns to the shell, and `fg` to the program; a signal that stops the program alone
    returns to the shell too, and the command continues with the program."""
    master, slave = pty.openpty()
    start = shlex.join([*command, "run", "--lock", "ttas", "--stats", "--"])
    shell = subprocess.Popen(
        ["setsid", "--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment | {"PS1": "", "HISTFILE": ""},
    )
    os.close(slave)

    def answered(line: str, *expected: str) -> None:
        os.write(master, line.encode())
        received = b""
        for each in expected:
            while each.encode() not in received:
                received += os.read(master, 4096)
            received = received.partition(each.encode())[2]

    try:
        answered(f"{start} {program('waits')}\n", "ready")
        answered("\x1a", "Stopped")
        answered("fg\n", "waits")
        answered("\x04", "acquisitions")
        answered("echo status $?\n", "status 0")
        answered(f"{start} {program('stopped')}\n", "Stopped", "ok\r", "acquisitions")
        os.write(master, b"exit 0\n")
        assert shell.wait(30) == 0
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
