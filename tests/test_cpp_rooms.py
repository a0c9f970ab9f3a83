"""The table of rooms in docs/developing.md names every C++ folder, and includes keep to it."""

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

#: Whose headers the sources of a room may include beside their own; as in the table.
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
    "src/bench": {"programs", *NATIVE, *LOCKS},
    "src/torture": {"programs", "lockwright"},
}


def folders() -> set[str]:
    """The folders of C++ sources that are a room: of src the first level, of include the third."""
    found = {str(path.relative_to(locate.ROOT)) for path in (locate.ROOT / "src").iterdir()}
    base = locate.ROOT / "include/lockwright"
    found |= {str(path.relative_to(locate.ROOT)) for path in base.iterdir() if path.is_dir()}
    return found | {"include/lockwright", "cmake"}


def includes(room: str) -> Iterator[tuple[Path, str]]:
    """Each source of a room, with a header of the project that it includes."""
    top = locate.ROOT / room
    for path in top.glob("*") if room == "include/lockwright" else top.rglob("*"):
        if path.suffix in (".hpp", ".cpp", ".h"):
            for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
                yield path, name


def test_the_table_names_every_room() -> None:
    """And no folder that is not there."""
    named = [place.rstrip("/") for place, _, _ in ROWS]
    assert sorted(named) == sorted(folders())


def test_the_table_says_what_each_room_is_for() -> None:
    """Each row describes the room in words, and names the rooms that it may use."""
    for place, meaning, use in ROWS:
        assert meaning, place
        assert use, place


@pytest.mark.parametrize("room", sorted(MAY_INCLUDE))
def test_a_room_includes_what_it_may(room: str) -> None:
    """Headers of its own, and of the rooms that the table allows."""
    own = room.split("/")[1] if room.startswith("src/") else room.removeprefix("include/")
    written = {"lockwright/row", "lockwright/rows.hpp", "lockwright/built.def"}
    for path, name in includes(room):
        beside = (path.parent / name).resolve()
        if beside.exists():
            assert beside.is_relative_to(locate.ROOT / "src"), path
            target = str(beside.relative_to(locate.ROOT / "src").parts[0])
        else:
            target = str(Path(name).parent)
        if name in written or target in written:
            continue
        assert target == own or target.startswith(f"{own}/") or target in MAY_INCLUDE[room], (
            f"{path.relative_to(locate.ROOT)} includes {name}"
        )


@pytest.mark.parametrize("room", ["interpose", "preload", "probe"])
def test_headers_are_included_by_their_room(room: str) -> None:
    """Preload and probe have headers of the same name, so that a bare name says too little."""
    for path, name in includes(f"src/{room}"):
        assert "/" in name, f"{path.relative_to(locate.ROOT)} includes {name}"
        if not name.startswith("lockwright/"):
            assert (locate.ROOT / "src" / name).exists(), path
