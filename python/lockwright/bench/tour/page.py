"""The report of a tour: one HTML file that needs nothing else.

page/page.html holds its structure, page.css its looks, page.js draws the plots; what it shares with
other reports is in lockwright.page.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.base.numbers import plain
from lockwright.base.progress import duration
from lockwright.bench.claims import show
from lockwright.bench.claims.evaluate import Finding, Verdict
from lockwright.bench.rounds import Seen
from lockwright.bench.tour import tour_figures
from lockwright.bench.tour.store import Header
from lockwright.bench.tour.tour_figures import Point
from lockwright.bench.tour.tour_plan import SECTION_CYCLES, Plan
from lockwright.machine import provenance
from lockwright.page import templates
from lockwright.page.rows import Row
from lockwright.run.bench_program import LIBC, Outcome

_ALIKE = 1.05
"""Ratio of the best to the worst lock below which neither is named."""

_KINDS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "fails",
    Verdict.OPEN: "open",
    Verdict.ELSEWHERE: "elsewhere",
}


@dataclass(frozen=True)
class Tour:
    """All that a report is made of. no_energy: why there is none, "" where there is. stopped:
    whether it was ended before its time.
    """

    header: Header
    plan: Plan
    seen: Seen
    findings: Sequence[Finding]
    remarks: Sequence[str]
    command: str
    no_energy: str
    stopped: bool = False

    @property
    def runs(self) -> list[tuple[int, Outcome]]:
        """Successful runs, each with its round."""
        return [run for outcomes in self.seen.outcomes.values() for run in outcomes.items()]


def render(tour: Tour) -> str:
    """The whole file as text."""
    fastest = tour_figures.throughput(tour.plan, tour.seen)
    return templates.fill(
        "bench/tour/page/page.html",
        data(tour),
        title="A tour of locks on this machine",
        tour=tour,
        machine=_machine(tour),
        measured=_measured(tour),
        summary=_summary(tour, fastest),
        cycles=f"{SECTION_CYCLES:,}",
        throughput_columns=["lock", *(_threads(count) for count in tour.plan.threads)],
        throughput=_throughput(fastest),
        # Those of which there is something to see come first.
        findings=sorted(tour.findings, key=lambda each: each.verdict == Verdict.ELSEWHERE),
        kinds=_KINDS,
        show=show,
        provenance=_provenance(tour),
    )


def data(tour: Tour) -> dict[str, Any]:
    """What page.js draws."""
    plan, seen = tour.plan, tour.seen
    return {
        "baseline": LIBC,
        "locks": list(plan.locks),
        "processors": tour.header.processors,
        "threads": list(plan.threads),
        "metered": list(plan.metered),
        "percentiles": list(tour_figures.PERCENTILES),
        "throughput": _plain(tour_figures.throughput(plan, seen)),
        "gini": _plain(tour_figures.by_threads(plan, seen, "gini", plan.contended, plan.threads)),
        "lwss": _plain(tour_figures.by_threads(plan, seen, "lwss", plan.timed, plan.metered)),
        "latency": [tour_figures.percentiles(plan, seen, threads) for threads in plan.metered],
        "naps": tour_figures.naps(plan, seen),
        "uncontested": {
            lock: _as_data(found) for lock, found in tour_figures.uncontested(plan, seen).items()
        },
        "energy": tour_figures.energy(plan, seen),
    }


def _plain(series: Mapping[str, Sequence[Point | None]]) -> dict[str, list[Any]]:
    return {lock: [_as_data(each) for each in points] for lock, points in series.items()}


def _as_data(found: Point | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ratio = found.ratio
    finite = ratio is not None and all(math.isfinite(x) for x in ratio if x is not None)
    return {**vars(found), "ratio": ratio if finite else None}


def _machine(tour: Tour) -> str:
    facts = tour.header.facts
    count = tour.header.processors
    return f"{facts.get('cpu', 'unknown processor')}, {count} processor{'s' if count > 1 else ''}"


def _measured(tour: Tour) -> str:
    rounds = len({turn for turn, _ in tour.runs})
    spent = duration(sum(outcome.seconds for _, outcome in tour.runs))
    sentence = (
        f"Measured: {len(tour.runs)} runs, {spent} in all; {rounds} "
        f"round{'s' if rounds != 1 else ''} of {len(tour.plan.cases())}."
    )
    if tour.stopped:
        sentence += " It was stopped before its time, so the last round is not complete."
    return sentence


def _summary(tour: Tour, fastest: Mapping[str, Sequence[Point | None]]) -> list[str]:
    """A sentence for each number of threads, and one on the claims."""
    lines = []
    for place, threads in enumerate(tour.plan.threads):
        known = {
            lock: found
            for lock, points in fastest.items()
            if (found := points[place]) is not None and found.median > 0
        }
        if len(known) < 2:
            continue
        stuck = [lock for lock, points in fastest.items() if _let_nobody_in(points[place])]
        none = f"; nobody got in with {', '.join(stuck)}" if stuck else ""
        best = max(known, key=lambda lock: known[lock].median)
        worst = min(known, key=lambda lock: known[lock].median)
        times = known[best].median / known[worst].median
        if times < _ALIKE:
            lines.append(f"{_threads(threads)}: no two locks differ by more than 5 %{none}")
            continue
        lines.append(
            f"{_threads(threads)}: {best} has the most throughput, "
            f"{plain(known[best].median)} op/s{_ratio_to_libc(best, known[best])}; "
            f"{worst} the least, {plain(times)} times less{none}"
        )
    if tour.findings:
        lines.append(show.counted(tour.findings).removesuffix("."))
    return lines


def _let_nobody_in(found: Point | None) -> bool:
    return found is not None and found.median == 0


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _ratio_to_libc(lock: str, found: Point) -> str:
    if lock == LIBC or found.ratio is None:
        return ""
    value, low, high = found.ratio
    if low is None or high is None:
        return ""
    chance = ", which may be chance" if low <= 1 <= high else ""
    return (
        f", {plain(value)} times that of the C library's mutex "
        f"({plain(low)} to {plain(high)}{chance})"
    )


def _throughput(fastest: Mapping[str, Sequence[Point | None]]) -> list[Row]:
    return [
        Row(
            [
                (lock, lock),
                *(
                    ("-", "") if found is None else (plain(found.median), repr(found.median))
                    for found in points
                ),
            ]
        )
        for lock, points in fastest.items()
    ]


def _provenance(tour: Tour) -> dict[str, str]:
    facts = {
        "started": tour.header.started,
        "command": tour.command,
        "runs": f"each measures for {tour.header.seconds:g} s",
    }
    return facts | provenance.printable(tour.header.facts)
