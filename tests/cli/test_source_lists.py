"""Every source is in a list of the CMakeLists.txt beside it, else CMake fails."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

SCRIPT = """
cmake_minimum_required(VERSION 3.22)
project(lists NONE)
include({sources})
{lists}
"""

TWO_LISTS = "lockwright_sources(some PART a.cpp)\nlockwright_sources(others b.cpp sub/c.cpp)\n"


def configure(folder: Path, lists: str) -> subprocess.CompletedProcess[str]:
    """Configure a project with these lists."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    sources = locate.ROOT / "cmake/Sources.cmake"
    (folder / "CMakeLists.txt").write_text(SCRIPT.format(sources=sources, lists=lists))
    (folder / "sub").mkdir(exist_ok=True)
    for name in ("a.cpp", "b.cpp", "sub/c.cpp"):
        (folder / name).touch()
    return captured(["cmake", "-S", folder, "-B", folder / "build"])


def test_lists_that_name_every_file(tmp_path: Path) -> None:
    """The lists contain the paths of the files."""
    result = configure(tmp_path, TWO_LISTS + 'message(STATUS "${some};${others}")\n')
    assert result.returncode == 0, result.stderr
    named = ";".join(f"{tmp_path}/{name}" for name in ("a.cpp", "b.cpp", "sub/c.cpp"))
    assert named in result.stdout


@pytest.mark.parametrize("name", ["new.cpp", "sub/new.cpp"])
def test_a_file_in_no_list(tmp_path: Path, name: str) -> None:
    """The error names the file, in any directory of the lists."""
    (tmp_path / "sub").mkdir()
    (tmp_path / name).touch()
    result = configure(tmp_path, TWO_LISTS)
    assert result.returncode != 0
    message = " ".join(result.stderr.split())
    assert f"does not name {name}: add it to one of its lists of sources" in message, result.stderr


def test_every_directory_of_sources_has_lists() -> None:
    """Only shared sources, and those installed as source, have no lists beside them."""
    shared = {"src/check", "src/programs"}
    lists = {
        path.parent: path.read_text() for path in (locate.ROOT / "src").rglob("CMakeLists.txt")
    }
    for source in (locate.ROOT / "src").rglob("*.cpp"):
        directory = next((folder for folder in source.parents if folder in lists), None)
        if directory is None:
            assert str(source.parent.relative_to(locate.ROOT)) in shared, source
            continue
        name = re.escape(str(source.relative_to(directory)))
        assert re.search(rf"lockwright_sources\([^)]*(?<![\w/]){name}(?!\w)", lists[directory]), (
            source
        )
