"""Threads that contend for one mutex: the rate of acquisitions, and the progress of each thread."""

import random
from collections.abc import Sequence

from lockwright.base.numbers import plain
from lockwright.experiment import TIMEOUT, Outcome, Summary
from lockwright.experiment.columns import no_value
from lockwright.experiment.model import Slot
from lockwright.run.bench_program import LIBC, number
from lockwright.stats.spread import format_spread

from lockwright_lab.bench import runs
from lockwright_lab.bench.measurement import Given, Measurement, bound

CONTENDING_SHARE = 0.75
"""Share of the processors below which a warning is printed. With two, at 1.5 both threads run at
once for half of the time; below that, most acquisitions are uncontended."""

BOUND = {"futex": 0.95}
"""The share of the C library's throughput that a lock has to reach."""

LEAST_KEPT = 0.7
"""Least throughput with many threads of a lock that restricts concurrency, as a share of that with
a thread for each processor. The C library's mutex has about 0.9."""

RESTRICTING = ("malth-stp", "loiter", "lifo-cr", "shfllock-stp")
"""The locks that restrict concurrency, beside those named `gcr-...`."""


def _speed(row: Summary) -> str:
    """Return the rate, or what a run had measured when it was killed at its limit."""
    rate = row.over_rounds("rate")
    killed = next((run for run in row.runs if run.ended == TIMEOUT), None)
    if killed is None:
        return format_spread(rate, 1000) if rate else no_value(row)
    line = runs.line(killed, "measured")
    if line is None:
        return f"collapsed: nothing measured in {killed.wall:.1f} s"
    acquisitions, seconds = (number(line, name) for name in ("acquisitions", "seconds"))
    return f"collapsed: {plain(acquisitions)} acq in {seconds:.1f} s"


def _contention(rows: Sequence[Summary]) -> list[str]:
    """Return a warning if the threads of libc hardly contended."""
    texts = []
    for row in rows:
        cpus, threads = row.over_rounds("cpus"), int(row.of_cell.options["threads"])
        possible = min(threads, runs.processors())
        if row.contender == LIBC and cpus and cpus.median < CONTENDING_SHARE * possible:
            texts.append(
                f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                f"{possible}: they hardly contended, so these ratios say little about contention."
            )
    return texts


def _remarks(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    warnings = [text for rows in cells for text in _contention(rows)]
    return [f"{runs.processors()} processors.", *warnings]


def _counted(call: runs.Call) -> Outcome:
    return runs.also_counted(runs.beside_libc(call), call)


HANDOVER = Measurement(
    "handover",
    {"rate": _speed, "bound": bound(lambda row: BOUND.get(row.contender), least=True)},
    run=_counted,
    remarks=_remarks,
    first=runs.calibration,
)


def restricts_concurrency(name: str) -> bool:
    """Return True if the lock has to keep its throughput with many threads."""
    return name in RESTRICTING or name.startswith("gcr-")


def _kept(row: Summary) -> str:
    kept = row.over_rounds("kept")
    if row.timeouts:
        return "timed out"
    is_fewest = set(row.by_round("kept").values()) == {1.0}
    if is_fewest or kept is None or not restricts_concurrency(row.contender):
        return ""
    starved = 0 in row.by_round("least_in_a_second").values()
    holds = kept.median >= LEAST_KEPT and not starved
    return f">= {LEAST_KEPT:.2f} {'holds' if holds else 'MISSED'}"


def _in_turn(slot: Slot) -> tuple[float, int]:
    """Return the sort key by which the runs of a lock with all numbers of threads follow one
    another, upwards and downwards in turn, so that a drift affects them little."""
    threads = int(slot.cell.split()[0])
    seed = f"{slot.contender} {slot.round}"
    return random.Random(seed).random(), threads if slot.round % 2 else -threads


def _work(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    """Return the work in a section and between two, and a warning if threads hardly contended."""
    first = next((row for row in cells[0] if row.contender == LIBC), None)
    section, gap = (first and first.over_rounds(each) for each in ("section_ns", "gap_ns"))
    if not section or not gap:
        return []
    work = (
        f"{runs.processors()} processors; {section.median:.0f} ns of work in a section, "
        f"{gap.median:.0f} ns between two."
    )
    return [work, *_contention(cells[0])]


OVERSUBSCRIBE = Measurement(
    "oversubscribe", {"bound": _kept}, remarks=_work, further={"postponed": _in_turn}
)
