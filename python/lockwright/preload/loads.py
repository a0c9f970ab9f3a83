"""The processes that loaded one of the libraries, and their programs.

`src/interpose/loads.hpp` stores the ids of some processes and the kernel's names of their programs
at the last load of the library.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base.process_numbers import PROC, namespace_of

ADVICE = (
    "check that it is dynamically linked and keeps LD_PRELOAD, that it runs in this root, and that "
    "its user may read the library"
)
"""Advice for a program that did not load the library."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended. name: the kernel's last name of its program, "" if unknown.
    had_children: whether it waited for any."""

    pid: int
    name: str
    had_children: bool = False


@dataclass(frozen=True)
class Unseen:
    """A program that cannot report. has_library: whether it has the library, but not its file; else
    it has not loaded that. program: "" for the children of a process of which nothing is known but
    that they did not report."""

    program: str
    has_library: bool = False

    @property
    def fault(self) -> str:
        """What is wrong, with the program as the subject."""
        if not self.program:
            return "the processes that it started did not report"
        if self.has_library:
            return (
                f"'{self.program}', which it ran with the library, could not open the file for the"
                " figures"
            )
        return f"'{self.program}', which it ran, did not load the library"

    @property
    def advice(self) -> str:
        show = (
            "if it runs in a sandbox, let that show /dev/shm, as with 'bwrap ... --bind /dev/shm"
            " /dev/shm'"
        )
        return show if self.has_library else f"{ADVICE}; {show}" if not self.program else ADVICE


def bytes_of(field: Any) -> bytes:
    """Return the text in a field of characters, which ends at the first zero byte."""
    return bytes(field).partition(b"\0")[0]


def programs(rows: Iterable[Any]) -> dict[int, str]:
    """Return the program of each process of this PID namespace, from the rows of the table in a
    file."""
    own = namespace_of(PROC / "self")
    return {
        int(row["process"]["pid"]): bytes_of(row["program"]).decode(errors="replace")
        for row in rows
        if row["process"]["pid"] and row["process"]["pid_namespace"] in (0, own)
    }


def ended(pid: int) -> Ended:
    """Return what the kernel knows of a process, also of a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return Ended(pid, "")
    # The name may itself contain parentheses.
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    page_faults_of_children = int(rest.split()[8])
    return Ended(pid, name.decode(errors="replace"), page_faults_of_children > 0)


def without_library(loaded: Mapping[int, str], ended: Ended) -> str:
    """Return the program without the library that a process executed after a program with it, or
    "". A program of the same name is not detected."""
    before = loaded.get(ended.pid)
    return ended.name if before is not None and before != ended.name else ""
