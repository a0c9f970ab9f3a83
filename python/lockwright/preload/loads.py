"""Which processes loaded a library of ours, and as which programs.

The C++ side is `src/interpose/loads.hpp`: the numbers of some processes, and the name that the
kernel had for the program of each when the library was loaded last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADVICE = (
    "check that it is dynamically linked and keeps LD_PRELOAD, that it runs in this root, and that "
    "its user may read the library"
)
"""Where a program did not load one."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended. name: what the kernel had last for its program; empty if that is
    not known."""

    pid: int
    name: str


def programs(rows: Iterable[Any]) -> dict[int, str]:
    """The program of each process, from the rows of the table in a file."""
    return {
        int(row["pid"]): bytes(row["program"]).decode(errors="replace")
        for row in rows
        if row["pid"]
    }


def name_of(pid: int) -> str:
    """The kernel's name for the program of a process, also of one that has ended and was not waited
    for yet; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The name may itself have parentheses in it.
    return stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode(errors="replace")


def without_library(loaded: Mapping[int, str], ended: Ended) -> str:
    """The program that a process became after the one that loaded the library, if it became one
    that did not; else empty. One of the same name is not told apart."""
    before = loaded.get(ended.pid)
    return ended.name if before is not None and before != ended.name else ""
