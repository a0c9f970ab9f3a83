"""What docs/security.md states, where no other test shows it.

Other tests: test_secure_mode.py (setuid programs), test_other_user.py (shared files),
test_metrics.py (the loopback, segments after a change of user), test_study_tls.py (certificates),
test_fuzz_files.py (files that are read), test_leftovers.py (removal), test_debug_files.py
(servers).
"""

import re
import shutil
import stat
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

from .conftest import Cli, Program
from .test_metrics import served

LOCK = next(lock for lock in ("adaptive", "mcs-stp", "pthread") if lock in locate.lock_names())

#: System calls by which a program gets a socket, a thread or another program.
FOREIGN = (
    "socket,socketpair,connect,bind,listen,accept,accept4,fork,vfork,execve,execveat,io_uring_setup"
)


def traced(
    words: list[str | Path], calls: str, folder: Path, variables: dict[str, str]
) -> list[str]:
    """Run a program under strace, and return the lines of these system calls."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed; see tests/apps/more-packages.txt")
    trace = folder / "trace"
    options = [f"--env={name}={value}" for name, value in variables.items()]
    result = captured(
        ["strace", "-f", "-qq", "-o", trace, "-e", f"trace={calls}", *options, *words]
    )
    if "PTRACE" in result.stderr or "ptrace" in result.stderr:
        pytest.skip("this system does not permit ptrace")
    assert result.returncode == 0, result.stderr
    return trace.read_text().splitlines()


def calls_of(lines: list[str]) -> list[str]:
    """Return the names of the system calls, in order."""
    found = (re.match(r"\d+ +(\w+)\(", line) for line in lines)
    return [match[1] for match in found if match]


@pytest.mark.parametrize("variable", ["", "LOCKWRIGHT_METRICS"])
def test_a_library_adds_no_socket_thread_or_program(
    cli: Cli, program: Program, tmp_path: Path, variable: str
) -> None:
    """The program makes the same number of these calls with the library as without it."""
    contended: list[str | Path] = [program("several"), "4"]
    variables = {"LD_PRELOAD": cli("path", LOCK).out.strip()}
    if variable:
        variables[variable] = "1"
    wanted = f"{FOREIGN},clone,clone3"
    without = calls_of(traced(contended, wanted, tmp_path, {}))
    with_library = calls_of(traced(contended, wanted, tmp_path, variables))
    assert without
    assert sorted(with_library) == sorted(without)


def test_a_library_opens_no_file_for_writing(cli: Cli, program: Program, tmp_path: Path) -> None:
    """Of the named files it opens only one that begins with the number of its layout."""
    named = tmp_path / "not a counters file"
    named.write_text("kept")
    absent = tmp_path / "absent"
    variables = {
        "LD_PRELOAD": cli("path", LOCK).out.strip(),
        "LOCKWRIGHT_STATS": str(named),
        "LOCKWRIGHT_PROFILE": str(absent),
        "LOCKWRIGHT_PLAN": str(absent),
    }
    lines = traced([program("several"), "4"], "open,openat,openat2,creat", tmp_path, variables)
    writing = [line for line in lines if re.search(r"O_WRONLY|O_RDWR|O_CREAT|creat\(", line)]
    assert [line for line in writing if str(named) not in line] == []
    assert named.read_text() == "kept"
    assert not absent.exists()


def test_results_have_the_permissions_of_the_umask(
    cli: Cli, command: list[str], tmp_path: Path
) -> None:
    """An existing file keeps its own."""
    for mask, expected in (("077", 0o600), ("022", 0o644)):
        file = tmp_path / f"{mask}.json"
        script = f'umask {mask}; exec "$@"'
        words = ["sh", "-c", script, "sh", *command, "list", "--json", str(file)]
        assert captured(words).returncode == 0
        assert stat.S_IMODE(file.stat().st_mode) == expected
    file = tmp_path / "077.json"
    before = file.stat()
    assert cli("list", "--json", file).status == 0
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(before.st_mode) == 0o600


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_metrics_port_accepts_reads_only(command: list[str], method: str) -> None:
    with served(command) as (_, url):
        request = urllib.request.Request(url, data=b"x", method=method)
        with pytest.raises(urllib.error.HTTPError, match="501"):
            urllib.request.urlopen(request, timeout=30)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/../../etc/passwd", timeout=30)


def test_the_metrics_port_shows_no_version_of_python(command: list[str]) -> None:
    with served(command) as (_, url), urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["Server"] == "lockwright"
