"""The processes of a running program that cannot report to the command.

A sandbox may hide the library from the programs in it, or the file in which the library counts.
Nothing of that remains when they have ended, so it is looked for while they run.
"""

import contextlib
import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from lockwright.preload.loads import Unseen

_LIBRARY = "/liblockwright"
_LINKERS = ("/ld-linux", "/ld-musl", "/ld64")
_C_LIBRARIES = ("/libc.so", "/libc-2", "/ld-musl")
_MOST = 64
"""Limit on the processes of a look, and on the threads of each whose children are looked for; each
takes some hundredths of a millisecond."""


@dataclass
class _Program:
    """A program in a process, with its processor time in ticks at the last look. has_library,
    has_file: whether they were mapped then; None before the program was loaded; looks: since."""

    name: str
    ticks: int = 0
    has_library: bool | None = None
    has_file: bool = False
    looks: int = 0


@dataclass
class UnseenPrograms:
    """The programs of the processes seen. file: the one that the library maps."""

    file: Path
    _programs: dict[tuple[int, str], _Program] = field(default_factory=dict)

    def look(self, root: int) -> None:
        """Examine a process and its descendants."""
        pids, todo = [root], [root]
        while todo and len(pids) < _MOST:
            with contextlib.suppress(OSError, ValueError):
                for task in islice(Path(f"/proc/{todo.pop()}/task").iterdir(), _MOST):
                    children = [int(each) for each in (task / "children").read_text().split()]
                    pids += children
                    todo += children
        for pid in pids[:_MOST]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                self._examine(Path(f"/proc/{pid}"))

    def running(self) -> list[int]:
        """Return the processes that still have the file mapped."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self._is_mapped((process / "maps").read_text(errors="replace")):
                    found.append(int(process.name))
        return found

    def found(self) -> Unseen | None:
        """Return the program that took most processor time of those that cannot report, None if
        there was none."""
        found = [
            each
            for each in self._programs.values()
            # A library opens its file just after it was mapped.
            if each.has_library is False
            or (each.has_library and not each.has_file and each.looks > 2)
        ]
        if not found:
            return None
        most = max(found, key=lambda each: each.ticks)
        return Unseen(most.name, bool(most.has_library))

    def _examine(self, process: Path) -> None:
        path = str((process / "exe").readlink())
        name, _, rest = (process / "stat").read_text(errors="replace").rpartition(")")
        program = self._programs.setdefault(
            (int(process.name), path), _Program(name.partition("(")[2])
        )
        program.ticks = sum(map(int, rest.split()[11:13]))
        if program.has_file:
            return
        maps = (process / "maps").read_text(errors="replace")
        is_static = path in maps and not any(each in maps for each in _LINKERS)
        if is_static or any(each in maps for each in _C_LIBRARIES):
            program.has_library = _LIBRARY in maps
            program.looks += 1
            program.has_file = self._is_mapped(maps)

    def _is_mapped(self, maps: str) -> bool:
        status = self.file.stat()
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
        return any(line.split()[3:5] == [device, str(status.st_ino)] for line in maps.splitlines())
