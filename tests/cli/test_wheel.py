"""The wheels of ./dev wheel, installed where there is no compiler."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from lockwright.cli import cli as root
from lockwright.commands.completion import SHELLS
from lockwright.elf.file import load
from support import locate
from support.processes import captured

from .conftest import Cli
from .test_grammar import commands

SHARE = re.compile(r"lockwright(?:_lab)?-[0-9.]+\.data/data/share/(.+)")


WHEELS = locate.ROOT / "build/wheel"


def built(name: str) -> Path:
    found = list(WHEELS.glob(f"{name}-*.whl"))
    if len(found) != 1:
        raise locate.Missing(f"there is no wheel of {name} in build/wheel; run ./dev wheel")
    return found[0]


@pytest.fixture(scope="module")
def wheel() -> Path:
    return built("lockwright")


@pytest.fixture(scope="module")
def laboratory() -> Path:
    return built("lockwright_lab")


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}


@pytest.fixture(scope="module")
def shared(wheel: Path, laboratory: Path) -> dict[str, str]:
    """The files below share/ of both wheels."""
    files: dict[str, str] = {}
    for path in (wheel, laboratory):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name[-1] != "/"]
            found = {name: SHARE.fullmatch(name) for name in names}
            own = {match[1]: archive.read(name).decode() for name, match in found.items() if match}
        assert not files.keys() & own.keys()
        files |= own
    return files


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel of the product alone, in a path with blanks."""
    folder = tmp_path_factory.mktemp("wheel") / "a path with blanks"
    words: list[str | Path] = [sys.executable, "-m", "venv", "--without-pip", folder]
    subprocess.run(words, check=True, timeout=300)
    # The dependencies of this environment, pip too, serve the new one: no network is needed.
    dependencies = folder / "dependencies"
    dependencies.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith("lockwright"):
            (dependencies / each.name).symlink_to(each)
    [packages] = (folder / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    pip(folder, "install", "--no-index", "--no-deps", wheel)
    return folder


def test_the_laboratory_adds_its_commands(
    installed: Path, laboratory: Path, tmp_path: Path
) -> None:
    """Without it, they are unknown; with it, they run and have a heading of their own."""
    folder = tmp_path / "environment"
    shutil.copytree(installed, folder, symlinks=True)

    def lockwright(*words: str) -> subprocess.CompletedProcess[str]:
        return captured([folder / "bin/python", "-m", "lockwright", *words], timeout=120)

    assert "laboratory" not in lockwright("--help").stdout
    refusal = lockwright("bench", "--help").stderr
    assert refusal.startswith("lockwright: no command is named 'bench'")
    pip(folder, "install", "--no-index", "--no-deps", laboratory)
    assert "Commands of the laboratory:\n  bench" in lockwright("--help").stdout
    for line in (
        "torture mcs-stp --budget 1.2s",
        "bench uncontended --locks mcs-stp --runs 2 --set batch=1000 --set batches=2",
        "study catalogue xz",
    ):
        result = lockwright(*line.split())
        assert result.returncode == 0, result.stderr
    pip(folder, "uninstall", "--yes", "lockwright-lab")
    assert lockwright("list").returncode == 0


def pip(folder: Path, *words: str | Path) -> None:
    result = captured([folder / "bin/python", "-m", "pip", *words], timeout=300)
    assert result.returncode == 0, result.stderr


def test_the_installed_command_needs_no_compiler(installed: Path, tmp_path: Path) -> None:
    """PATH has the command and xz alone."""
    xz = shutil.which("xz")
    if xz is None:
        pytest.skip("xz is not installed")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "xz").symlink_to(xz)
    (tmp_path / "numbers").write_text("\n".join(map(str, range(1_000_000))))
    env = {
        "PATH": f"{installed}/bin:{tools}",
        "HOME": str(tmp_path),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }

    def lockwright(line: str) -> str:
        words = [f"{installed}/bin/lockwright", *line.split()]
        result = captured(words, cwd=tmp_path, env=env)
        assert result.returncode == 0, result.stderr
        return result.stdout + result.stderr

    imported = [f"{installed}/bin/python", "-c", "import lockwright; print(lockwright.__file__)"]
    assert captured(imported, env=env).stdout.startswith(str(installed))
    program = "xz -T2 -0 -k -f numbers"
    counts = lockwright(f"run --stats --lock mcs-stp -- {program}")
    assert re.search(r"^lockwright: mcs-stp\n(.*\n)+  acquisitions +[1-9]", counts)
    (tmp_path / "numbers.xz").unlink()
    lockwright(f"run -- {program}")
    assert (tmp_path / "numbers.xz").exists()
    lockwright(f"profile -o profile.json -- {program}")
    lockwright("advise profile.json")
    lockwright(f"compare --locks ttas --runs 2 -- {program} --force")
    lockwright(f"tune --budget 2 -- {program} --force")


def test_removal_leaves_nothing(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    shutil.copytree(installed, folder, symlinks=True)
    assert list(folder.rglob("*lockwright*"))
    pip(folder, "uninstall", "--yes", "lockwright")
    assert list(folder.rglob("*lockwright*")) == []


def test_programs_and_libraries_need_only_the_c_library(installed: Path) -> None:
    """The libraries need nothing else; the programs also the runtime of C++."""
    [package] = (installed / "lib").glob("python*/site-packages/lockwright")
    libraries, programs = list(package.glob("lib/**/*.so")), list(package.glob("bin/*"))
    assert libraries
    assert programs
    for path in libraries:
        assert set(load(path).needed) <= {"libc.so.6"}, path
    for path in programs:
        runtime = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
        assert set(load(path).needed) <= runtime, path


def test_the_files_do_not_depend_on_place_or_time(wheel: Path, contents: dict[str, bytes]) -> None:
    """No file has the path of the checkout, and all have one date."""
    place = os.fsencode(locate.ROOT)
    assert [name for name, data in contents.items() if place in data] == []
    with zipfile.ZipFile(wheel) as archive:
        assert len({each.date_time for each in archive.infolist()}) == 1


def test_every_command_has_a_man_page(shared: dict[str, str]) -> None:
    pages = {name for name in shared if name.startswith("man/")}
    words = {" ".join(["lockwright", name][: 1 + bool(name)]) for name, _ in commands(root)}
    groups = {path.rpartition(" ")[0] for path in words}
    expected = {path.replace(" ", "-") for path in words | groups}
    assert pages == {f"man/man1/{name}.1" for name in expected}


def test_a_page_has_every_option(shared: dict[str, str]) -> None:
    for name, command in commands(root):
        page = shared[f"man/man1/lockwright-{name.replace(' ', '-')}.1"].replace("\\-", "-")
        for option in command.params:
            if max(option.opts, key=len).startswith("--"):
                assert f"{max(option.opts, key=len)}" in page, (name, option.opts)


def test_man_finds_no_fault_in_the_pages(shared: dict[str, str], tmp_path: Path) -> None:
    """Neither man nor mandoc, where they are installed, has a warning."""
    pages = []
    for name, text in shared.items():
        if name.startswith("man/"):
            assert text.isascii(), name
            pages.append(tmp_path / Path(name).name)
            pages[-1].write_text(text)
    checks = [
        ["groff", "-man", "-ww", "-z", "-Tutf8", "-P-c"],
        ["mandoc", "-T", "lint", "-W", "warning"],
    ]
    present = [words for words in checks if shutil.which(words[0])]
    if not present:
        pytest.skip("neither groff nor mandoc is installed")
    for words in present:
        result = captured([*words, *pages])
        assert (result.stdout, result.stderr) == ("", "")


def test_man_shows_a_page(installed: Path) -> None:
    """`man` finds the pages of the environment whose command PATH has."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    env = os.environ | {"PATH": f"{installed}/bin:{os.environ['PATH']}", "MANPAGER": "cat"}
    result = captured(["man", "lockwright-run"], env=env)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^ +--lock LOCK\n +Put this lock in place\.", result.stdout, re.MULTILINE)


def test_the_scripts_are_those_that_the_command_prints(cli: Cli, shared: dict[str, str]) -> None:
    scripts = {name: text for name, text in shared.items() if not name.startswith("man/")}
    assert sorted(scripts.values()) == sorted(cli("completion", shell).out for shell in SHELLS)
    assert set(scripts) == {
        "bash-completion/completions/lockwright",
        "zsh/site-functions/_lockwright",
        "fish/vendor_completions.d/lockwright.fish",
    }
