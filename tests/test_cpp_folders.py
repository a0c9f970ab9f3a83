"""The table in docs/developing.md names every C++ folder, and includes follow it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import locate

ROWS = re.findall(
    r"^\| `((?:include|src|cmake)/[^`]*)` \| (.*?) \| (.*?) \|$",
    (locate.ROOT / "docs/developing.md").read_text(),
    re.MULTILINE,
)

LOCKS = {"lockwright", "lockwright/lock", "lockwright/rwlock", "lockwright/parts"}
NATIVE = {"lockwright/env", "lockwright/env/native"}
MODEL = {"lockwright/env", "lockwright/env/model"}

#: The folders whose headers a folder's sources may include beside their own, as in the table.
MAY_INCLUDE = {
    "include/lockwright": set(),
    "include/lockwright/lock": LOCKS,
    "include/lockwright/rwlock": LOCKS,
    "include/lockwright/parts": LOCKS,
    "include/lockwright/env": {"lockwright", *NATIVE, *MODEL},
    "src/interpose": NATIVE,
    "src/preload": {"interpose", *LOCKS, *NATIVE},
    "src/probe": {"interpose", *NATIVE},
    "src/registry": {"lockwright", "interpose", "preload", "probe", *NATIVE},
    "src/check": {*LOCKS, *MODEL},
    "src/programs": set(),
    "src/workload": {"programs"},
    "src/calibrate": {"programs", *NATIVE},
    "src/bench": {"calibrate", "workload", "programs", *NATIVE, *LOCKS},
    "src/torture": {"programs", "lockwright"},
}


def folders() -> set[str]:
    """Return the folders of C++ sources: of src the first level, of include the third."""
    found = {str(path.relative_to(locate.ROOT)) for path in (locate.ROOT / "src").iterdir()}
    base = locate.ROOT / "include/lockwright"
    found |= {str(path.relative_to(locate.ROOT)) for path in base.iterdir() if path.is_dir()}
    return found | {"include/lockwright", "cmake"}


def includes(folder: str) -> Iterator[tuple[Path, str]]:
    """Yield each source of a folder, with a header of the project that it includes."""
    top = locate.ROOT / folder
    for path in top.glob("*") if folder == "include/lockwright" else top.rglob("*"):
        if path.suffix in (".hpp", ".cpp", ".h"):
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
                yield path, name


def test_the_table_names_every_folder() -> None:
    """Nor has it a row for a folder that does not exist."""
    named = [folder.rstrip("/") for folder, _, _ in ROWS]
    assert sorted(named) == sorted(folders())


def test_each_row_is_complete() -> None:
    for folder, contents, use in ROWS:
        assert contents, folder
        assert use, folder


@pytest.mark.parametrize("folder", sorted(MAY_INCLUDE))
def test_a_folder_includes_allowed_headers(folder: str) -> None:
    """Sources include headers of their folder, and of the folders that the table allows."""
    prefix = folder.split("/")[1] if folder.startswith("src/") else folder.removeprefix("include/")
    rows = {
        "lockwright/row",
        "lockwright/rows.hpp",
        "lockwright/built.def",
        "lockwright/counted.def",
    }
    rows |= {"lockwright/rwrows.hpp", "lockwright/rwlocks.def"}
    for path, name in includes(folder):
        beside = (path.parent / name).resolve()
        if beside.exists():
            assert beside.is_relative_to(locate.ROOT / "src"), path
            target = str(beside.relative_to(locate.ROOT / "src").parts[0])
        else:
            target = str(Path(name).parent)
        if name in rows or target in rows:
            continue
        assert (
            target == prefix or target.startswith(f"{prefix}/") or target in MAY_INCLUDE[folder]
        ), f"{path.relative_to(locate.ROOT)} includes {name}"


@pytest.mark.parametrize("folder", ["interpose", "preload", "probe"])
def test_headers_are_included_with_their_folder(folder: str) -> None:
    """Preload and probe have headers of the same name, so a bare name is ambiguous."""
    for path, name in includes(f"src/{folder}"):
        assert "/" in name, f"{path.relative_to(locate.ROOT)} includes {name}"
        if not name.startswith("lockwright/"):
            assert (locate.ROOT / "src" / name).exists(), path
