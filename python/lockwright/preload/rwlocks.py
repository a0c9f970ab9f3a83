"""The registry of reader-writer locks as the build wrote it."""

import json
from dataclasses import dataclass, fields
from pathlib import Path

from lockwright.base.errors import LockwrightError
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
    source = (folder or locks.directory()) / "rwlocks.json"
    known = {field.name for field in fields(RwLock)}
    try:
        rows = json.loads(source.read_text(encoding="utf-8"))
        found = []
        for row in rows:
            tunables = tuple(locks.Tunable(**each) for each in row["tunables"])
            # A later build may write fields that this code does not read.
            known_fields = {key: value for key, value in row.items() if key in known}
            found.append(RwLock(**{**known_fields, "tunables": tunables}))
        return {lock.name: lock for lock in found}
    except OSError as error:
        raise LockwrightError(
            f"cannot read {source}: {error.strerror}", locks.missing_advice()
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LockwrightError(
            f"{source} is not a registry of reader-writer locks ({error})",
            "build or install Lockwright again",
        ) from error
