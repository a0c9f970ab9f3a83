"""The figures of a cell, from the counts that the simulator printed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.simulate.run import Line, Setup

BASELINE = "pthread"


@dataclass(frozen=True)
class Figure:
    """A figure of a cell: its heading and its meaning."""

    heading: str
    meaning: str


FIGURES = {
    "operations_per_second": Figure("ops/s", "operations per simulated second"),
    "ratio": Figure("ratio", f"throughput over that of {BASELINE} with as many threads"),
    "transfers": Figure("transfers", "cache lines moved per acquisition, from any distance"),
    "transfers_far": Figure("far", "of these, from another package"),
    "invalidations": Figure("inval.", "copies invalidated per acquisition"),
    "handovers_far": Figure("moves", "share of the acquisitions for which the lock left its node"),
    "lwss": Figure("LWSS", "different holders in 1000 acquisitions"),
    "mttr": Figure("MTTR", "median acquisitions of others until a thread's next one"),
    "gini": Figure("Gini", "inequality of the threads' operations: 0 for equal, near 1 for one"),
    "wait_p99_ns": Figure("p99", "the 99th percentile of an acquisition's duration"),
    "sleeps": Figure("sleeps", "sleeps per acquisition"),
    "joules_per_million": Figure("J/M", "joules per million operations"),
}

RWLOCK_FIGURES = {
    "operations_per_second": Figure("ops/s", "sections of readers and writers per second"),
    "ratio": FIGURES["ratio"],
    "scaling": Figure("scaling", "throughput over that of the same lock with one thread"),
    "reads_per_second": Figure("reads/s", "sections of readers per simulated second"),
    "writes_per_second": Figure("writes/s", "the same of writers"),
    "longest_read_wait_ns": Figure("read wait", "the longest that a reader waited"),
    "longest_write_wait_ns": Figure("write wait", "the same of a writer"),
    "transfers": FIGURES["transfers"],
    "transfers_far": FIGURES["transfers_far"],
    "invalidations": FIGURES["invalidations"],
    "sleeps": FIGURES["sleeps"],
    "joules_per_million": FIGURES["joules_per_million"],
}
"""The figures of a workload of reader-writer locks."""


def columns(setup: Setup) -> Mapping[str, Figure]:
    """Return the figures of the workload."""
    return RWLOCK_FIGURES if setup.of_rwlocks else FIGURES


def figures(line: Line) -> dict[str, float]:
    """Return the figures of a cell except those that need other cells: ratio and scaling."""
    seconds = integer(line, "picoseconds") / 1e12
    acquisitions = max(1, integer(line, "acquisitions"))
    operations = integer(line, "operations")
    transfers = integers(line, "transfers")
    shared = {
        "operations_per_second": operations / seconds,
        "transfers": sum(transfers) / acquisitions,
        "transfers_far": sum(transfers[4:]) / acquisitions,
        "invalidations": integer(line, "invalidations") / acquisitions,
        "sleeps": integer(line, "sleeps") / acquisitions,
        "joules_per_million": (
            integer(line, "picojoules") / 1e6 / operations if operations else float("nan")
        ),
    }
    return shared | (_of_rwlock(line, seconds) if "reads" in line else _of_lock(line, acquisitions))


def _of_lock(line: Line, acquisitions: int) -> dict[str, float]:
    windows = integer(line, "lwss_windows")
    return {
        "handovers_far": sum(integers(line, "handovers")[3:]) / acquisitions,
        "lwss": integer(line, "lwss_distinct") / windows if windows else float("nan"),
        "mttr": float(integer(line, "mttr")),
        "gini": gini(integers(line, "per_thread")),
        "wait_p99_ns": integer(line, "wait_p99_ps") / 1e3,
    }


def _of_rwlock(line: Line, seconds: float) -> dict[str, float]:
    values = {}
    for kind in ("read", "write"):
        sections = integer(line, f"{kind}s")
        wait = integer(line, f"longest_{kind}_wait_ps")
        values[f"{kind}s_per_second"] = sections / seconds
        # A thread that is never admitted waits, too.
        values[f"longest_{kind}_wait_ns"] = wait / 1e3 if sections or wait else float("nan")
    return values


def integer(line: Line, name: str) -> int:
    """Return an integer of a result."""
    value = line[name]
    assert isinstance(value, int)
    return value


def integers(line: Line, name: str) -> list[int]:
    """Return a list of integers of a result."""
    value = line[name]
    assert isinstance(value, list)
    return value


def gini(values: Sequence[int]) -> float:
    """Return the Gini coefficient: 0 if all values are equal."""
    total = sum(values)
    if total == 0:
        return 0.0
    weighted = sum(rank * value for rank, value in enumerate(sorted(values), 1))
    count = len(values)
    return 2 * weighted / (count * total) - (count + 1) / count
