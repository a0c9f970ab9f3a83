"""Sanitizers that a user preloads into programs built without one."""

import re
import subprocess
from pathlib import Path

import pytest
from support import tiers

from .conftest import Cli, Program

LIBRARIES = ["libasan.so", "libtsan.so", "libubsan.so", "liblsan.so"]

#: The command runs with the sanitizer too, and does not free all its memory at the end.
QUIET = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}


def runtime(name: str) -> Path:
    """Return the path of gcc's library of a sanitizer."""
    message = subprocess.run(
        ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    path = Path(message.stdout.strip())
    if not path.is_absolute():
        pytest.skip(f"there is no {name}")
    return path


def order(cli: Cli, env: dict[str, str]) -> list[str]:
    """Return the entries of a program's LD_PRELOAD, with `lock` for the lock's library."""
    library = cli("path", "ttas").out.strip()
    result = cli("run", "--lock", "ttas", "--", "env", env=QUIET | env)
    assert result.status == 0, result.err
    (found,) = re.findall(r"^LD_PRELOAD=(.*)$", result.out, re.MULTILINE)
    return ["lock" if each == library else each for each in found.split(":")]


@pytest.mark.parametrize(
    "name", tiers.short(LIBRARIES, LIBRARIES[:1], "the rule is the same for all of them")
)
def test_a_preloaded_sanitizer_stays_first(cli: Cli, program: Program, name: str) -> None:
    """The program uses the lock, and can be profiled."""
    library = runtime(name)
    env = QUIET | {"LD_PRELOAD": str(library)}
    assert order(cli, env) == [str(library), "lock"]
    words = [program("worker"), "2", "500"]
    counted = cli("run", "--lock", "ttas", "--stats", "--", *words, env=env)
    assert counted.status == 0, counted.err
    found = re.search(r"^  acquisitions +([0-9,]+)$", counted.err, re.MULTILINE)
    assert found is not None, counted.err
    assert int(found[1].replace(",", "")) >= 1000
    profiled = cli("profile", "--", *words, env=env)
    assert profiled.status == 0, profiled.err
    assert "acquisitions" in profiled.err


def test_the_order_of_other_libraries_is_preserved(cli: Cli) -> None:
    library = str(runtime("libubsan.so"))
    env = {"LD_PRELOAD": f"libm.so.6 {library}:libdl.so.2"}
    assert order(cli, env) == ["libm.so.6", library, "lock", "libdl.so.2"]


def test_a_sanitizer_of_another_name_is_recognised(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "first.so"
    other.symlink_to(runtime("liblsan.so").resolve())
    assert order(cli, {"LD_PRELOAD": str(other)}) == [str(other), "lock"]


def test_libraries_whose_path_cannot_be_preloaded(cli: Cli, tmp_path: Path) -> None:
    directory = tmp_path / "with:colon"
    directory.symlink_to(Path(cli("path", "ttas").out.strip()).parent)
    env = {"LOCKWRIGHT_LIBDIR": str(directory)}
    cli("profile", "--", "true", env=env).refuses("a colon or a semicolon")
    cli("run", "--lock", "ttas", "--", "true", env=env).refuses("a colon or a semicolon")
