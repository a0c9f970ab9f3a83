"""Processes that have the same number, in PID namespaces of their own."""

from pathlib import Path

import pytest
from lockwright.profile import record
from support.processes import captured

from .conftest import Cli, Program

UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]


@pytest.fixture(autouse=True)
def _with_namespaces() -> None:
    if captured([*UNSHARE, "true"]).returncode != 0:
        pytest.skip("user namespaces are not available")


def in_namespaces(program: Path, *words: str) -> list[str]:
    """Return a command that runs a program three times at once, each as process 1."""
    one = " ".join([*UNSHARE, str(program), *words])
    return ["sh", "-c", f"{one} & {one} & {one} & wait"]


def test_a_profile_is_of_one_of_them(cli: Cli, program: Program, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    result = cli("profile", "-o", path, "--", *in_namespaces(program("worker"), "2", "20000"))
    assert result.status == 0, result.err
    profiled = record.read(path)
    assert profiled.process.lock_calls == 40000
    assert profiled.process.threads_seen == 2
    assert "2 other processes that took mutexes are not included" in profiled.partial
    assert "executed another program" not in profiled.partial


def test_each_of_them_is_counted(cli: Cli, program: Program) -> None:
    words = in_namespaces(program("worker"), "2", "500")
    result = cli("run", "--lock", "ttas", "--stats", "--", *words)
    assert "  acquisitions             3,000\n" in result.err
    # The shell, its three children that become `unshare`, and the children of these.
    assert "  processes                7\n" in result.err
