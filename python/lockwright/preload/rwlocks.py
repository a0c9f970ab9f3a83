"""The registry of reader-writer locks as the build wrote it."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lockwright.preload import locks

KEEP, MUTEX = "keep", "mutex"
"""Values of --rwlock besides the names: the C library's lock; the mutex, readers too."""


@dataclass(frozen=True)
class RwLock:
    """A reader-writer lock: a row of rwlocks.json. Sizes are in bytes. preference: "readers",
    "writers", "FIFO", "alternating" or "none"."""

    name: str
    header: str
    preference: str
    waiting: str
    parking: bool
    distributed_readers: bool
    numa_aware: bool
    bytes_in_place: int
    bytes_per_lock_outside: int
    bytes_per_node: int
    suits: str
    patents: str
    tunables: tuple[locks.Tunable, ...]
    reference: str
    summary: str

    def properties(self) -> list[str]:
        """Return the names of this lock's yes/no properties."""
        named = {
            "parks": self.parking,
            "distributed readers": self.distributed_readers,
            "NUMA-aware": self.numa_aware,
        }
        return [word for word, has in named.items() if has]


def rwlocks(folder: Path | None = None) -> dict[str, RwLock]:
    """Read rwlocks.json: the reader-writer locks by name, in registry order. Raises LockwrightError
    if it is missing or malformed. folder: as for `locks.registry()`."""
    known = {field.name for field in fields(RwLock)}

    def convert(rows: list[dict[str, Any]]) -> dict[str, RwLock]:
        found = {}
        for row in rows:
            tunables = tuple(locks.Tunable(**each) for each in row["tunables"])
            # A later build may write fields that this code does not read.
            known_fields = {key: value for key, value in row.items() if key in known}
            found[row["name"]] = RwLock(**{**known_fields, "tunables": tunables})
        return found

    return locks.read_rows((folder or locks.directory()) / "rwlocks.json", convert)
