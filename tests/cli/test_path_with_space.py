"""Libraries whose path contains a space, at which the dynamic linker splits LD_PRELOAD."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

from .conftest import Cli, Program


@pytest.fixture
def libraries(cli: Cli, tmp_path: Path) -> dict[str, str]:
    """The variable that makes the command use libraries in a directory with a space."""
    package = Path(cli("path", "ttas").out.strip()).parent.parent
    link = tmp_path / "with a space"
    link.symlink_to(package)
    return {"LOCKWRIGHT_LIBDIR": str(link / "lib")}


def test_run(cli: Cli, program: Program, libraries: dict[str, str]) -> None:
    """The lock serves the program, and the variables that were set stay."""
    command = ["run", "--lock", "ttas", "--stats", "--", str(program("worker")), "2", "500"]
    run = cli(*command, env=libraries | {"LD_PRELOAD": "libm.so.6", "LD_LIBRARY_PATH": "/lib"})
    assert run.status == 0, run.err
    assert re.search(r"acquisitions +1,000\n", run.err)
    variables = cli("run", "--lock", "ttas", "--", "env", env=libraries | {"LD_LIBRARY_PATH": "/x"})
    assert "LD_PRELOAD=liblockwright-ttas.so\n" in variables.out
    assert f"LD_LIBRARY_PATH={libraries['LOCKWRIGHT_LIBDIR']}:/x\n" in variables.out


def test_profile(cli: Cli, program: Program, libraries: dict[str, str], tmp_path: Path) -> None:
    """The profiler sees the mutexes."""
    report = tmp_path / "profile.json"
    command = ["profile", "-o", str(report), "--", str(program("worker")), "2", "500"]
    profile = cli(*command, env=libraries)
    assert profile.status == 0, profile.err
    assert json.loads(report.read_text())["mutexes"]


def test_bench(cli: Cli, libraries: dict[str, str]) -> None:
    """The bench measures the lock, and not the C library's."""
    command = ["bench", "uncontended", "--locks", "ttas", "--runs", "2"]
    run = cli(*command, env=libraries)
    assert run.status == 0, run.err
    assert "ttas" in run.out


def test_other_libraries(cli: Cli, program: Program, libraries: dict[str, str]) -> None:
    """They are preloaded as the locks are; the printed command preloads them too."""
    folder = Path(libraries["LOCKWRIGHT_LIBDIR"])
    other = f"mine={folder}/liblockwright-ttas.so"
    words = ["--locks", "ttas", "--runs", "2", "--warm-up-runs", "0", "--preload", other]
    shell = "cat /proc/self/maps | grep -c -m 1 liblockwright-ttas.so"
    rated = ["--metric", "rate: (.*)", "--unit", "x", "--", "sh", "-c"]
    script = f"{program('worker')} 1 1; case $LD_PRELOAD in liblockwright-ttas.so) echo rate: 9;;"
    compared = cli("compare", *words, *rated, f"{script} *) echo rate: 1;; esac")
    assert compared.status == 0, compared.err
    assert "mine is best" in compared.out
    use = shlex.split(compared.out.splitlines()[-1])
    done = captured([*use[: use.index("sh")], "sh", "-c", shell])
    assert done.stdout == "1\n", (use, done.stderr)
    bench = cli("bench", "uncontended", *words[2:4], "--locks", "libc", *words[6:])
    assert bench.status == 0, bench.err
    assert "mine: the mutex calls" not in bench.out


def test_path(cli: Cli, libraries: dict[str, str]) -> None:
    """A path that LD_PRELOAD cannot hold is not printed for it."""
    cli("path", "ttas", env=libraries).refuses("contains a space", "LD_LIBRARY_PATH")


def test_a_fresh_root_is_refused_at_once(tmp_path: Path) -> None:
    """debootstrap fails in such a folder after some minutes."""
    root = tmp_path / "a root"
    script = locate.ROOT / "scripts/fresh_root.sh"
    result = captured(["sh", script, tmp_path, "bookworm", root])
    assert result.returncode == 2
    assert "has a space" in result.stderr
    assert not root.exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["jessie", "build"], "no suite is named 'jessie'"),
        (["trixie", "nothing"], "no verb of a root is named 'nothing'"),
        (["trixie", "in", "sid", "build"], "no verb of a root is named 'in'"),
        (["trixie"], "name a suite and a verb"),
    ],
)
def test_a_verb_in_a_root_is_refused_at_once(words: list[str], line: str) -> None:
    """Before packages are installed or a root is made."""
    _refuses(locate.ROOT / "dev", words, line)


def test_a_root_in_a_checkout_with_a_space_is_refused(tmp_path: Path) -> None:
    """The suite's root would be in that folder."""
    checkout = tmp_path / "a checkout"
    (checkout / "scripts").mkdir(parents=True)
    for name in ("dev", "scripts/debian_root.sh"):
        shutil.copy(locate.ROOT / name, checkout / name)
    _refuses(checkout / "dev", ["trixie", "build"], "has a space")
    assert not (checkout / "build").exists()


def _refuses(dev: Path, words: list[str], line: str) -> None:
    result = captured([dev, "in", *words])
    assert result.returncode == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
