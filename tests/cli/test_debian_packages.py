"""The Debian packages of ./dev deb, installed into a folder, used and removed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

from .test_header_package import build_consumer
from .test_wheel import WHEELS, built

NAMES = ["liblockwright-dev", "liblockwright0", "lockwright-lab", "lockwright"]

pytestmark = pytest.mark.skipif(shutil.which("dpkg") is None, reason="there is no dpkg")


def make(folder: Path) -> list[Path]:
    """Make the packages, and return them in the order of NAMES."""
    for name in ("lockwright", "lockwright_lab"):
        built(name)
    script = locate.ROOT / "scripts/debian_packages.py"
    # To compress them takes most of the time.
    plain = {"DPKG_DEB_COMPRESSOR_TYPE": "none"}
    env = os.environ | plain | {"SOURCE_DATE_EPOCH": "1700000000"}
    result = captured([sys.executable, script, WHEELS, folder], env=env, timeout=300)
    assert result.returncode == 0, result.stderr
    packages = sorted(folder.glob("*.deb"))
    assert [each.name.partition("_")[0] for each in packages] == NAMES
    return packages


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make(tmp_path_factory.mktemp("packages"))


def dpkg(root: Path, *words: str | Path) -> None:
    """Run dpkg on the system in a folder, which has none of the packages depended on."""
    names = ("not-root", "script-chrootless", "depends", "unsafe-io")
    forced = [f"--force-{name}" for name in names]
    result = captured(["dpkg", f"--root={root}", *forced, *words], timeout=300)
    assert result.returncode == 0, result.stderr


def install(packages: list[Path], root: Path) -> Path:
    """Install the packages into a folder, and return it."""
    for name in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg(root, "--install", *packages)
    return root


@pytest.fixture(scope="module")
def system(packages: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the packages are installed."""
    return install(packages, tmp_path_factory.mktemp("system"))


def library_folder(system: Path) -> Path:
    [library] = system.glob("usr/lib/*/liblockwright-mcs-stp.so")
    return library.parent


def test_a_library_is_preloaded_without_its_path(system: Path) -> None:
    """LD_LIBRARY_PATH stands for the folder's being that of the system."""
    env = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": "liblockwright-mcs-stp.so",
        "LD_LIBRARY_PATH": str(library_folder(system)),
    }
    result = captured(["cat", "/proc/self/maps"], env=env)
    assert result.stderr == ""
    assert str(library_folder(system) / "liblockwright-mcs-stp.so") in result.stdout


def test_the_command_runs(system: Path, tmp_path: Path) -> None:
    """Each of its folders of other packages is found."""
    modules = system / "usr/lib/python3/dist-packages"
    env = os.environ | {"PYTHONPATH": str(modules), "XDG_STATE_HOME": str(tmp_path)}
    script = "import lockwright; print(lockwright.__file__)"
    place = captured([sys.executable, "-c", script], env=env).stdout
    assert place.startswith(str(modules))
    for line in (
        "list",
        "run --stats --lock mcs-stp -- true",
        "bench park --runs 1 --set trips=10",
        "profile -o profile.json -- true",
    ):
        words: list[str | Path] = [sys.executable, system / "usr/bin/lockwright", *line.split()]
        result = captured(words, env=env, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    # Without the modules of this test's environment, which has the package installed, too.
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport lockwright as it; print(it.version())"
    )
    version = captured([sys.executable, "-I", "-S", "-c", script, modules]).stdout.strip()
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", version), version


def test_msgspec_comes_along_for_distributions_without_it(system: Path) -> None:
    for version in ("3.11", "3.12"):
        [compiled] = system.glob(f"usr/lib/python{version}/dist-packages/msgspec/_core.*.so")
        assert version.replace(".", "") in compiled.name


def test_links_lead_to_files(system: Path) -> None:
    links = [path for path in system.rglob("*") if path.is_symlink()]
    assert links
    assert [path for path in links if not path.exists()] == []


def test_another_project_is_built_with_the_headers(system: Path, tmp_path: Path) -> None:
    assert captured([build_consumer(system / "usr", tmp_path)]).stdout == "40000\n"


def test_removal_leaves_nothing(packages: list[Path], tmp_path: Path) -> None:
    root = install(packages, tmp_path)
    dpkg(root, "--purge", *reversed(NAMES))
    assert list(root.glob("usr/**/*")) == []


@pytest.mark.full("makes the packages once more")
def test_the_same_wheel_gives_the_same_bytes(
    packages: list[Path],
    tmp_path: Path,
) -> None:
    again = make(tmp_path)
    assert [each.read_bytes() for each in again] == [each.read_bytes() for each in packages]


@pytest.mark.full("reads every file of every package for half a minute")
def test_lintian_reports_nothing(packages: list[Path]) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed")
    # The packages of these tests are not compressed.
    words: list[str | Path] = ["lintian", "--fail-on", "error,warning"]
    plain = [f"uses-no-compression-for-{part}-tarball" for part in ("control", "data")]
    words += ["--suppress-tags", ",".join(plain), *packages]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert (result.returncode, result.stdout) == (0, "")
