"""The tiers of the tests: what `./dev test` runs, and what it leaves to `./dev test --all`.

A test is left out by a marker with a reason: `full` always, `sampled` under locks that are not
among representatives(), which have every combination of traits that the preload library
distinguishes; `sampled(reason, memory=False)` where a lock's memory makes no difference either.
`--left-out` prints what that leaves out.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from lockwright.preload.locks import BASELINE

from support import locate
from support.harness import LIBC, Setting

#: The words of the markers, for pytest.
MARKERS = (
    "full(reason): runs with --all only",
    "sampled(reason, memory=True): without --all, runs under representative locks only",
    "alone(reason): measures; runs while no other test runs, and again, twice at most, if it fails",
)

#: Names that are no locks of the registry, and stand for themselves.
_NO_LOCK = {LIBC, "", "mixed", "keep"}


def _traits(name: str) -> tuple[bool, bool, bool, bool]:
    """Return whether a lock is the C library's, parks, has a lock call of two steps, and has memory
    outside of the mutex."""
    row = locate.traits(name)
    header = (locate.ROOT / "include" / row["header"]).read_text() if row["header"] else ""
    two_steps = re.search(r"\barrival wait_and_lock\(", header) is not None
    return name == BASELINE, bool(row["parking"]), two_steps, bool(row["bytes_per_mutex_outside"])


@cache
def representatives(*, memory: bool = True) -> frozenset[str]:
    """Return one lock of each combination of traits: the default lock where it has them, else the
    first of the registry. memory: whether memory outside of the mutex is one of the traits."""
    names = sorted(locate.lock_names(), key=lambda name: not locate.traits(name)["is_default"])
    first: dict[tuple[bool, ...], str] = {}
    for name in names:
        first.setdefault(_traits(name)[: 4 if memory else 3], name)
    return frozenset(first.values())


def short(values: Iterable[Any], chosen: Iterable[Any], reason: str) -> list[Any]:
    """Return the values of a parameter, marked so that the short run has the chosen ones only."""
    kept, mark = list(chosen), pytest.mark.full(reason)
    return [
        each
        if each in kept
        else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=mark)
        for each in values
    ]


def _lock_of(item: pytest.Item) -> str:
    """Return the lock that a parametrized test runs under, or an empty string."""
    callspec = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    for value in values:
        if isinstance(value, Setting):
            return value.lock
    named = callspec.params.get("lock", "") if callspec else ""
    return named if isinstance(named, str) else ""


def reason_to_leave_out(item: pytest.Item) -> str | None:
    """Return why the short run leaves out a test; None if it does not."""
    if marker := item.get_closest_marker("full"):
        return str(marker.args[0])
    marker = item.get_closest_marker("sampled")
    if marker and _lock_of(item) not in representatives(**marker.kwargs) | _NO_LOCK:
        return str(marker.args[0])
    return None


def table(left_out: Iterable[tuple[pytest.Item, str]]) -> list[str]:
    """Return lines of how many cases of each test are left out, and why."""
    counts: Counter[tuple[str, str]] = Counter(
        (item.nodeid.partition("[")[0], reason) for item, reason in left_out
    )
    return [f"{count:5} {test}: {reason}" for (test, reason), count in sorted(counts.items())]


def in_slice(item: pytest.Item, revision: str, slices: int) -> bool:
    """Return whether a test is in the slice of a revision. Successive revisions have slices in
    no order; each test is in one of `slices`."""
    return (zlib.crc32(item.nodeid.encode()) + zlib.crc32(revision.encode())) % slices == 0
