"""The registry of reader-writer locks as the build wrote it."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lockwright.preload import locks

KEEP, MUTEX = "keep", "mutex"
"""Values of --rwlock besides the names: the C library's lock; the mutex, readers too."""

DEFAULT = locks.DEFAULT

_BETWEEN = "/"


def pair_name(lock: str, rwlock: str) -> str:
    """Return the name of a lock together with a reader-writer lock; that of the lock alone with the
    C library's."""
    return lock if rwlock == KEEP else f"{lock}{_BETWEEN}{rwlock}"


def parts_of(name: str) -> tuple[str, str]:
    """Return the lock and the reader-writer lock of a name, which may be DEFAULT."""
    if name == DEFAULT:
        return locks.DEFAULT_LOCK, locks.DEFAULT_RWLOCK
    lock, _, rwlock = name.partition(_BETWEEN)
    return lock, rwlock or KEEP


def run_options(name: str) -> list[str]:
    """Return the options of `lockwright run` for a name."""
    if name == DEFAULT:
        return []
    lock, rwlock = parts_of(name)
    return ["--lock", lock, *(["--rwlock", rwlock] if rwlock != KEEP else [])]


def compare_options(names: Iterable[str]) -> list[str]:
    """Return the options of `lockwright compare` under which it runs these names, and perhaps other
    pairs of their locks."""
    parts = [(name, KEEP) if name == DEFAULT else parts_of(name) for name in names]
    chosen = list(dict.fromkeys(lock for lock, _ in parts))
    rwlocks = list(dict.fromkeys(rwlock for _, rwlock in parts))
    options = ["--locks", ",".join(chosen)]
    return options if rwlocks == [KEEP] else [*options, "--rwlocks", ",".join(rwlocks)]


@dataclass(frozen=True)
class RwLock:
    """A reader-writer lock: a row of rwlocks.json. Sizes are in bytes. preference: "readers",
    "writers", "FIFO", "alternating" or "none". suits: the load that it is for, in words."""

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
    use_cases: tuple[locks.Suitability, ...]
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
        # A later build may write fields that this code does not read.
        return {
            row["name"]: RwLock(**{key: value for key, value in row.items() if key in known})
            for row in (locks.with_parts(row, "use_cases") for row in rows)
        }

    return locks.read_rows((folder or locks.directory()) / "rwlocks.json", convert)
