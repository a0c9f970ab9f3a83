"""Libraries that programs use and whose locks are not the C library's, so that none is replaced.

Only those that have locks of their own for the program: many more use such a lock inside.
"""

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lockwright.elf.file import load

_FOLDERS = [
    *(f"{parent}/{platform.machine()}-linux-gnu" for parent in ("/lib", "/usr/lib")),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"),
]
"""Where the dynamic linker looks for libraries, as distributions configure it."""

_MOST_LIBRARIES = 200
"""The limit of the search, which takes about 0.2 ms for each."""


@dataclass(frozen=True)
class OwnLocks:
    """A library with locks of its own. library: a pattern for its file's name; symbol: one for the
    symbols of a program that contains it."""

    name: str
    locks: str
    library: re.Pattern[str]
    symbol: re.Pattern[bytes] | None = None


_KNOWN = (
    OwnLocks(
        "OpenMP", "critical sections, locks and barriers", re.compile(r"lib(gomp|omp|iomp5)\.so")
    ),
    OwnLocks("GLib", "GMutex, GRWLock and GCond", re.compile(r"libglib-2\.0\.so")),
    OwnLocks(
        "Abseil",
        "absl::Mutex and absl::CondVar",
        re.compile(r"libabsl_synchronization\.so"),
        re.compile(rb"\0_ZN4absl(\d+lts_\d+)?5Mutex4LockEv\0"),
    ),
    OwnLocks("Qt", "QMutex, QReadWriteLock and QWaitCondition", re.compile(r"libQt[56]Core\.so")),
    OwnLocks("oneTBB", "mutexes and task queues", re.compile(r"libtbb\.so")),
)


def of_program(program: Path, *, with_dependencies: bool) -> OwnLocks | None:
    """Return the first library of the table that a program uses, None if it uses none.
    with_dependencies: whether a library that it needs may use it."""
    direct = load(program).needed
    for known in _KNOWN:
        if any(known.library.match(name) for name in direct) or _contains(program, known):
            return known
    for name in _dependencies(program) if with_dependencies else ():
        for known in _KNOWN:
            if known.library.match(name):
                return known
    return None


def _contains(program: Path, known: OwnLocks) -> bool:
    if known.symbol is None:
        return False
    return any(known.symbol.search(load(program).section(each)) for each in (".dynstr", ".strtab"))


def _dependencies(program: Path) -> Iterator[str]:
    """Yield the names of the libraries that a program needs, and of those that these need."""
    seen: set[str] = set()
    files = [program]
    while files and len(seen) < _MOST_LIBRARIES:
        file = files.pop(0)
        folders = [
            *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")),
            *(each.replace("$ORIGIN", str(file.parent)) for each in load(file).run_paths),
            *_FOLDERS,
        ]
        for name in load(file).needed:
            if name in seen:
                continue
            seen.add(name)
            yield name
            found = next((Path(each, name) for each in folders if Path(each, name).is_file()), None)
            if found is not None:
                files.append(found)
