"""The library of a lock, and its requirements."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.preload.locks import DEFAULT, DEFAULT_LOCK, DEFAULT_RWLOCK


@dataclass(frozen=True)
class Library:
    """The library of a lock or of DEFAULT. path: in the program's file system; settings: variables
    of the lock's parameters."""

    lock: str
    path: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def use(self) -> str:
        """What the library puts in place, in words that follow `with`."""
        if self.lock == DEFAULT:
            return f"the default, {DEFAULT_LOCK} and {DEFAULT_RWLOCK}, in place of its locks"
        return f"the lock {self.lock} in place of its mutexes"

    @property
    def entry(self) -> str:
        """The entry of LD_PRELOAD, which is split at spaces: a path, or a file name."""
        return self.path.name if " " in str(self.path) else str(self.path)

    @property
    def search(self) -> str:
        """The entry of LD_LIBRARY_PATH, where LD_PRELOAD has a file name; '' otherwise."""
        return str(self.path.parent) if " " in str(self.path) else ""


def least_glibc(path: Path) -> str:
    """Return the oldest version of the GNU C library with which a library works, as `2.34`."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    with path.open("rb") as file:
        names = [
            auxiliary.name
            for section in ELFFile(file).iter_sections()
            if isinstance(section, GNUVerNeedSection)
            for _, auxiliaries in section.iter_versions()
            for auxiliary in auxiliaries
        ]
    versions = [match[1] for name in names if (match := re.fullmatch(r"GLIBC_([0-9.]+)", name))]
    return max(versions, key=lambda text: [int(part) for part in text.split(".")], default="")
