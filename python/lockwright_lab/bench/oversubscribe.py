"""Increasing numbers of threads on one mutex: throughput, and progress of every thread."""

import random
from collections.abc import Mapping, Sequence

from lockwright.experiment import (
    Cell,
    Column,
    Experiment,
    Figure,
    Relative,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.experiment.model import Slot
from lockwright.run.bench_program import LIBC

from lockwright_lab.bench import runs

LEAST_KEPT = 0.7
"""Least throughput with many threads of a lock that restricts concurrency, as a share of that with
a thread for each processor. The C library's mutex has about 0.9."""

RESTRICTING = ("malth-stp", "loiter", "lifo-cr", "shfllock-stp")
"""The locks that restrict concurrency, beside those named `gcr-...`."""

CONTENDING_SHARE = 0.75
"""Share of the processors that the fewest threads have to get, else a warning is printed: threads
that hardly run at the same time do not contend, and their throughput is no reference."""

RATE = Figure(
    "acquisitions_per_second",
    "1/s",
    definition="acquisitions: sections that all threads together completed, in thousands per "
    "second; median over the rounds.",
    heading="thousand acq/s",
    scale=1000,
    value=runs.field("measured", "acquisitions", "seconds"),
)
PER_CPU = Figure(
    "acquisitions_per_processor_second",
    "1/s",
    value=runs.field("measured", "acquisitions", "processor_seconds"),
)
RATIO = Figure(
    "ratio",
    "",
    definition="acquisitions/s divided by those of libc with as many threads in the same round; "
    "median over the rounds. Higher is better.",
    heading="ratio to libc",
    relative=Relative(RATE.name, contender=LIBC),
)
LONGEST = Figure(
    "longest_wait_ns",
    "ns",
    lower_is_better=True,
    definition="milliseconds from the call of pthread_mutex_lock to the end of the section, the "
    "longest of all threads and rounds, with the time for which the thread was runnable but did not"
    " run.",
    heading="longest wait ms",
    scale=1e6,
    value=runs.field("measured", "longest_wait_ns"),
)
LEAST = Figure(
    "least_in_a_second",
    "",
    definition="least acquisitions of a thread in any second of any round; seconds begin ten times "
    "a second. 0: a thread made no progress for a second. '-' if no run lasted as long.",
    heading="least in 1 s",
    value=runs.field("measured", "least_in_a_second"),
)
CPUS = Figure(
    "cpus",
    "",
    definition="processor time that the process used per second; median over the rounds.",
    value=runs.field("measured", "processor_seconds", "seconds"),
)
WORK = [Figure(name, "ns", value=runs.field("measured", name)) for name in ("section_ns", "gap_ns")]


def _kept(fewest: str) -> list[Figure]:
    return [
        Figure(
            "kept",
            "",
            definition="acquisitions/s divided by those of the same lock, in the same round, with "
            "the fewest threads of the comparison; median over the rounds. Higher is better.",
            relative=Relative(RATE.name, cell=fewest),
        ),
        Figure(
            "kept_per_processor_second",
            "",
            definition="the same quotient of the acquisitions per second of processor time that the"
            " process used. It is the steadier figure if other processes take a varying share of "
            "the processors; it does not include processors that the lock leaves idle.",
            heading="kept per cpu",
            relative=Relative(PER_CPU.name, cell=fewest),
        ),
    ]


def restricts_concurrency(name: str) -> bool:
    """Return True if the lock has to keep its throughput with many threads."""
    return name in RESTRICTING or name.startswith("gcr-")


def _bound(fewest: str) -> Column:
    def text(row: Summary) -> str:
        kept = row.over_rounds("kept")
        if row.timeouts:
            return "timed out"
        if row.cell == fewest or kept is None or not restricts_concurrency(row.contender):
            return ""
        starved = 0 in row.by_round("least_in_a_second").values()
        holds = kept.median >= LEAST_KEPT and not starved
        return f">= {LEAST_KEPT:.2f} {'holds' if holds else 'MISSED'}"

    return Column(
        "bound",
        f"for a lock that restricts concurrency: holds if the median of kept is {LEAST_KEPT} or "
        "more and every thread made progress in every second. 'timed out': a run was killed at its "
        "time limit; the figures are those of the time before.",
        text,
    )


def _columns(fewest: str) -> list[Column]:
    kept, per_cpu = _kept(fewest)
    return [
        make.name(definition=runs.LOCK),
        make.median(RATE),
        make.own_ratio(kept),
        make.median(per_cpu, make.fixed(3)),
        make.own_ratio(RATIO),
        make.extreme(LONGEST, max),
        make.extreme(LEAST, min),
        make.median(CPUS, make.fixed(2)),
        _bound(fewest),
    ]


COLUMNS = _columns("")


def _in_turn(slot: Slot) -> tuple[float, int]:
    """Return the sort key by which the runs of a lock with all numbers of threads follow one
    another, upwards and downwards in turn, so that a drift affects them little."""
    threads = int(slot.cell.split()[0])
    seed = f"{slot.contender} {slot.round}"
    return random.Random(seed).random(), threads if slot.round % 2 else -threads


def remarks(cells: Sequence[Sequence[Summary]]) -> list[str]:
    """Return the work in a section and between two, and a warning if threads hardly contended."""
    first = next((row for row in cells[0] if row.contender == LIBC), None)
    if first is None:
        return []
    texts = []
    section, gap, cpus = (first.over_rounds(each) for each in ("section_ns", "gap_ns", "cpus"))
    processors, threads = runs.processors(), first.of_cell.options["threads"]
    if section is not None and gap is not None:
        texts.append(
            f"{processors} processors; {section.median:.0f} ns of work in a section, "
            f"{gap.median:.0f} ns between two."
        )
    possible = min(threads, processors)
    if cpus is not None and cpus.median < CONTENDING_SHARE * possible:
        texts.append(
            f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
            f"{possible}: they hardly contended, so a share of that rate means little."
        )
    return texts


def oversubscribe(
    common: runs.Common, options: Mapping[str, object], thread_counts: Sequence[int]
) -> Experiment:
    """Return the experiment. options: of the measuring program, without the number of threads."""
    cells = [Cell(f"{count} threads", {"threads": count}) for count in thread_counts]
    return runs.experiment(
        "oversubscribe",
        common,
        [RATE, *_kept(cells[0].name), PER_CPU, RATIO, LONGEST, LEAST, CPUS, *WORK],
        [TableOf(_columns(cells[0].name))],
        options,
        cells,
        postponed=_in_turn,
        remarks=remarks,
    )
