"""The report of a tour: one self-contained HTML file.

page/page.html has its structure, page.css its style, page.js its plots; lockwright.page has the
parts that all reports share.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.base.numbers import plain
from lockwright.base.progress import duration
from lockwright.machine import provenance
from lockwright.page import templates
from lockwright.page.rows import Row
from lockwright.run.bench_program import LIBC, Outcome

from lockwright_lab import PACKAGE
from lockwright_lab.bench.claims import show
from lockwright_lab.bench.claims.evaluate import Finding, Verdict
from lockwright_lab.bench.rounds import RoundResults
from lockwright_lab.bench.tour import tour_figures
from lockwright_lab.bench.tour.store import Header
from lockwright_lab.bench.tour.tour_figures import Point
from lockwright_lab.bench.tour.tour_plan import SECTION_CYCLES, Plan

_ALIKE = 1.05
"""Ratio of the best to the worst lock up to which the summary names neither."""

_KINDS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "fails",
    Verdict.OPEN: "open",
    Verdict.ELSEWHERE: "elsewhere",
}


@dataclass(frozen=True)
class Tour:
    """The data of a report. no_energy: why energy is not measurable, or "". stopped: True if the
    tour was ended early."""

    header: Header
    plan: Plan
    results: RoundResults
    findings: Sequence[Finding]
    remarks: Sequence[str]
    command: str
    no_energy: str
    stopped: bool = False

    @property
    def runs(self) -> list[tuple[int, Outcome]]:
        """The successful runs, each with its round."""
        return [run for outcomes in self.results.outcomes.values() for run in outcomes.items()]


def render(tour: Tour) -> str:
    """Return the HTML of the report."""
    fastest = tour_figures.throughput(tour.plan, tour.results)
    sentences = _by_threads(tour, fastest)
    claims = [show.counted(tour.findings).removesuffix(".")] if tour.findings else []
    return templates.fill(
        "bench/tour/page/page.html",
        data(tour),
        root=PACKAGE,
        title="A tour of locks on this machine",
        tour=tour,
        machine=_machine(tour),
        measured=_measured(tour),
        verdict=sentences[-1] if sentences else "Fewer than two locks have a result",
        summary=[*sentences[:-1], *claims],
        cycles=f"{SECTION_CYCLES:,}",
        throughput_columns=["lock", *(_threads(count) for count in tour.plan.threads)],
        throughput=_throughput(fastest),
        # Claims with measurements come first.
        findings=sorted(tour.findings, key=lambda each: each.verdict == Verdict.ELSEWHERE),
        kinds=_KINDS,
        show=show,
        provenance=_provenance(tour),
    )


def data(tour: Tour) -> dict[str, Any]:
    """Return the data for page.js."""
    plan, results = tour.plan, tour.results
    return {
        "baseline": LIBC,
        "locks": list(plan.locks),
        "processors": tour.header.processors,
        "threads": list(plan.threads),
        "metered": list(plan.metered),
        "percentiles": list(tour_figures.PERCENTILES),
        "throughput": _plain(tour_figures.throughput(plan, results)),
        "gini": _plain(
            tour_figures.by_threads(plan, results, "gini", plan.contended, plan.threads)
        ),
        "lwss": _plain(tour_figures.by_threads(plan, results, "lwss", plan.timed, plan.metered)),
        "latency": [tour_figures.percentiles(plan, results, threads) for threads in plan.metered],
        "naps": tour_figures.naps(plan, results),
        "uncontested": {
            lock: _as_data(point) for lock, point in tour_figures.uncontested(plan, results).items()
        },
        "energy": tour_figures.energy(plan, results),
    }


def _plain(series: Mapping[str, Sequence[Point | None]]) -> dict[str, list[Any]]:
    return {lock: [_as_data(each) for each in points] for lock, points in series.items()}


def _as_data(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    ratio = point.ratio
    finite = ratio is not None and all(math.isfinite(x) for x in ratio if x is not None)
    return {**vars(point), "ratio": ratio if finite else None}


def _machine(tour: Tour) -> str:
    count = tour.header.processors
    model = tour.header.facts.get("cpu", "unknown processor")
    return f"{model}, {count} processor{'s' if count > 1 else ''}"


def _measured(tour: Tour) -> str:
    rounds = len({round_number for round_number, _ in tour.runs})
    spent = duration(sum(outcome.seconds for _, outcome in tour.runs))
    sentence = (
        f"Measured: {len(tour.runs)} runs, {spent} in all; {rounds} "
        f"round{'s' if rounds != 1 else ''} of {len(tour.plan.cases())}."
    )
    if tour.stopped:
        sentence += " It was stopped early, so the last round is incomplete."
    return sentence


def _by_threads(tour: Tour, fastest: Mapping[str, Sequence[Point | None]]) -> list[str]:
    """Return a sentence for each number of threads."""
    lines = []
    for index, threads in enumerate(tour.plan.threads):
        at_count = {lock: points[index] for lock, points in fastest.items()}
        known = {lock: each for lock, each in at_count.items() if each and each.median > 0}
        if len(known) < 2:
            continue
        stuck = [lock for lock, each in at_count.items() if each and each.median == 0]
        none = f"; no thread acquired {', '.join(stuck)}" if stuck else ""
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
    return lines


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _ratio_to_libc(lock: str, point: Point) -> str:
    if lock == LIBC or point.ratio is None:
        return ""
    value, low, high = point.ratio
    if low is None or high is None:
        return ""
    chance = ", which may be chance" if low <= 1 <= high else ""
    return (
        f", {plain(value)} times that of the C library's mutex "
        f"({plain(low)} to {plain(high)}{chance})"
    )


def _throughput(fastest: Mapping[str, Sequence[Point | None]]) -> list[Row]:
    rows = []
    for lock, points in fastest.items():
        cells = [("-", "") if p is None else (plain(p.median), repr(p.median)) for p in points]
        rows.append(Row([(lock, lock), *cells]))
    return rows


def _provenance(tour: Tour) -> dict[str, str]:
    facts = {
        "started": tour.header.started,
        "command": tour.command,
        "runs": f"each measures for {tour.header.seconds:g} s",
    }
    return facts | provenance.printable(tour.header.facts)
