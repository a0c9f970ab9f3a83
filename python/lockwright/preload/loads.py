"""Which processes loaded a library of ours, and as which programs.

The C++ side is `src/interpose/loads.hpp`: 16 entries of 32 bytes, each the number of a process and
the name that the kernel had for its program when the library was loaded last.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ENTRY = struct.Struct("=I4x16s8x")
_ENTRIES = 16
SIZE = _ENTRY.size * _ENTRIES

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


def read(data: bytes) -> dict[int, str]:
    """The program of each process, from the table of a file."""
    return {
        pid: name.rstrip(b"\0").decode(errors="replace")
        for pid, name in _ENTRY.iter_unpack(data)
        if pid
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
