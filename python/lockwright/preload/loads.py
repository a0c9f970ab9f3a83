"""The processes that loaded one of the libraries, and their programs.

`src/interpose/loads.hpp` stores the ids of some processes and the kernel's names of their programs
at the last load of the library.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADVICE = (
    "check that it is dynamically linked and keeps LD_PRELOAD, that it runs in this root, and that "
    "its user may read the library"
)
"""Advice for a program that did not load the library."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended. name: the kernel's last name of its program, "" if unknown."""

    pid: int
    name: str


def bytes_of(field: Any) -> bytes:
    """Return the text in a field of characters, which ends at the first zero byte."""
    return bytes(field).partition(b"\0")[0]


def programs(rows: Iterable[Any]) -> dict[int, str]:
    """Return the program of each process, from the rows of the table in a file."""
    return {
        int(row["pid"]): bytes_of(row["program"]).decode(errors="replace")
        for row in rows
        if row["pid"]
    }


def name_of(pid: int) -> str:
    """Return the kernel's name of a process's program, also of a zombie's; "" without a process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The name may itself contain parentheses.
    return stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode(errors="replace")


def without_library(loaded: Mapping[int, str], ended: Ended) -> str:
    """Return the program without the library that a process executed after a program with it, or
    "". A program of the same name is not detected."""
    before = loaded.get(ended.pid)
    return ended.name if before is not None and before != ended.name else ""
