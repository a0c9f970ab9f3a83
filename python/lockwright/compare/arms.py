"""Names of a lock together with settings of the program, as in `futex+jemalloc+batch`.

A value belongs to one dimension of lockwright.run.settings, so the name says all.
"""

from functools import cache

from lockwright.base.errors import LockwrightError
from lockwright.preload import allocators
from lockwright.run.settings import BATCH, COMPACT, HUGE, SCATTER, SMALL, Settings

_BETWEEN = "+"


def arm_name(lock: str, settings: Settings) -> str:
    """Return the name of a lock, or of a pair with a reader-writer lock, with settings."""
    return _BETWEEN.join((lock, *settings.values.values()))


def lock_of(name: str) -> str:
    """Return the lock, or the pair with a reader-writer lock, of a name."""
    return name.partition(_BETWEEN)[0]


def number_of_settings(name: str) -> int:
    """Return how many settings a name has."""
    return name.count(_BETWEEN)


@cache
def settings_of(name: str) -> Settings:
    """Return the settings of a name. Raises LockwrightError for a value of no dimension."""
    _, *values = name.split(_BETWEEN)
    return Settings(**{_dimension(value): value for value in values})


def _dimension(value: str) -> str:
    if value in allocators.KNOWN:
        return "allocator"
    if value.partition(":")[0] in (COMPACT, SCATTER):
        return "pinning"
    if value == BATCH:
        return "scheduler"
    if value in (HUGE, SMALL):
        return "pages"
    raise LockwrightError(
        f"'{value}' is not a setting of a program", "name one as 'lockwright run --help' does"
    )
