"""The experiment of `lockwright simulate`: locks on a simulated machine, each number of threads a
cell, which is repeated at each end of the machine's ranges."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

from lockwright.base import numbers
from lockwright.experiment import (
    Cell,
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Relative,
    Summary,
    TableOf,
)
from lockwright.experiment.report import Grid, Report, text_grid
from lockwright.simulate import run as runs
from lockwright.simulate.figures import BASELINE, columns, figures, integers
from lockwright.simulate.sources import sources

from lockwright_lab.simulate.one import simulated

DISTANCES = (
    "same core",
    "same cache",
    "same node",
    "same package",
    "other package",
    "other package, two hops",
)
"""The distances of src/simulate/machine.hpp, the nearest first."""

_MOST = 10
"""So many open pairs are printed; the JSON file has all."""

_FORMATTERS = {
    "operations_per_second": numbers.count,
    "ratio": numbers.ratio,
    "scaling": numbers.ratio,
    "reads_per_second": numbers.count,
    "writes_per_second": numbers.count,
    "longest_read_wait_ns": numbers.time,
    "longest_write_wait_ns": numbers.time,
    "wait_p99_ns": numbers.time,
    "handovers_far": numbers.share,
}


@dataclass(frozen=True)
class Plan:
    """The simulations to make. locks: their names, a user's own first; counts: numbers of threads;
    folder: of the compiled lock."""

    setup: runs.Setup
    locks: Sequence[str]
    counts: Sequence[int]
    timeout: float
    folder: "tempfile.TemporaryDirectory[str]"


def heading(setup: runs.Setup) -> str:
    """Return a line that describes the simulation."""
    options = " ".join(f"{name}={value}" for name, value in setup.parameters.items())
    name = setup.workload if setup.model is None else f"model of {setup.model.title}"
    return f"Simulated, not measured: {f'{name} {options}'.strip()} on {setup.machine.title}"


def experiment(plan: Plan) -> Experiment:
    """Return the experiment, whose runs are not repeated."""
    setup = plan.setup
    setups = {"": setup} | {
        label: replace(setup, machine=machine, trace=None)
        for label, machine in setup.machine.range_ends()
    }
    cells = [_cell(count, end) for end in setups for count in plan.counts]

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        at = runs.Cell(contender.name, cell.options["threads"])
        return simulated(runs.Job(setups[cell.options["at"]], at), plan.timeout, _outcome)

    return Experiment(
        "simulation",
        cells,
        [Contender(name) for name in plan.locks],
        _figures(setup, plan.counts),
        run,
        rounds=1,
        reference=BASELINE,
        settings={
            "machine": setup.machine.name,
            "workload": setup.workload,
            "seed": setup.seed,
            "set": dict(setup.parameters),
            "seconds": setup.seconds,
        },
        title=heading(setup),
        tables=[_table(setup)],
        at_once=len(os.sched_getaffinity(0)),
        around=lambda: _entered(plan),
        report=partial(_report, plan),
    )


def _entered(plan: Plan) -> AbstractContextManager[object]:
    return plan.folder


def _cell(count: int, end: str) -> Cell:
    threads = f"{count} thread{'s' if count != 1 else ''}"
    return Cell(", ".join(filter(None, [threads, end])), {"threads": count, "at": end})


def _figures(setup: runs.Setup, counts: Sequence[int]) -> list[Figure]:
    relative = {"ratio": Relative("operations_per_second", contender=BASELINE)}
    if 1 in counts:
        relative["scaling"] = Relative("operations_per_second", cell=_cell(1, "").name)
    return [
        Figure(
            name,
            "1/s" if name == "operations_per_second" else "",
            definition=f"{each.meaning}.",
            heading=each.heading,
            relative=relative.get(name),
        )
        for name, each in columns(setup).items()
    ]


def _table(setup: runs.Setup) -> TableOf:
    def text(name: str, row: Summary) -> str:
        value = row.over_rounds(name)
        return "-" if value is None else _FORMATTERS.get(name, numbers.plain)(value.median)

    def key(name: str, row: Summary) -> float | None:
        value = row.over_rounds(name)
        return None if value is None else value.median

    shown = [
        Column(each.heading, each.meaning, partial(text, name), partial(key, name))
        for name, each in columns(setup).items()
    ]
    return TableOf(
        [Column("lock", "", lambda row: row.contender), *shown],
        lambda cell: f"{heading(setup)}, {cell.name}",
        rows=lambda row: bool(row.values) and not row.of_cell.options["at"],
        order=lambda row: -(row.median or 0.0),
    )


def _outcome(line: runs.Line) -> Outcome:
    known = {name: value for name, value in figures(line).items() if value == value}
    return Outcome(figures=known, details={"line": dict(line)})


@dataclass(frozen=True)
class OpenPair:
    """Two locks, of which `faster` has more throughput in the middle of all ranges, but not at the
    `ends`, such as `kernel.wake_ns = 1200`."""

    threads: int
    faster: str
    slower: str
    ends: tuple[str, ...]

    @property
    def text(self) -> str:
        """A line such as `hmcs above cna with 64 threads, but not with rmw.far_ns = 150`."""
        return (
            f"{self.faster} above {self.slower} with {self.threads} threads, but not with "
            f"{', nor with '.join(self.ends)}"
        )


Rates = Mapping[str, float]
"""The operations per second of each lock with a number of threads."""


def open_pairs(threads: int, middle: Rates, ends: Mapping[str, Rates]) -> list[OpenPair]:
    """Return the pairs of locks whose order is not the same at all ends, by throughput. Locks that
    are equal in the middle have no order."""
    pairs = []
    for faster, slower in combinations(sorted(middle, key=lambda lock: -middle[lock]), 2):
        labels = tuple(
            label
            for label, rate in ends.items()
            if {faster, slower} <= rate.keys() and rate[faster] <= rate[slower]
        )
        if labels and middle[faster] > middle[slower]:
            pairs.append(OpenPair(threads, faster, slower, labels))
    return pairs


def summary(pairs: Sequence[OpenPair], ends: int) -> list[str]:
    """Return lines with the number of pairs and the first of them."""
    if not pairs:
        return [f"The order of the locks is the same at all {ends} ends of the machine's ranges."]
    count = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    lines = [
        f"Open: the order of {count} of locks changes within the ranges of the machine's figures.",
        *(f"  {pair.text}" for pair in pairs[:_MOST]),
    ]
    if len(pairs) > _MOST:
        lines.append(f"  and {len(pairs) - _MOST} more, which --json has")
    return lines


def _pairs(plan: Plan, cells: Sequence[Sequence[Summary]]) -> list[OpenPair]:
    rates: dict[int, dict[str, Rates]] = {}
    for rows in cells:
        at = rows[0].of_cell.options
        known = {row.contender: row.median for row in rows if row.median is not None}
        rates.setdefault(at["threads"], {})[at["at"]] = known
    return [
        pair
        for count in plan.counts
        for pair in open_pairs(
            count, rates[count][""], {end: rate for end, rate in rates[count].items() if end}
        )
    ]


def _by_distance(plan: Plan, usual: Report) -> list[Grid]:
    """Return the tables of the lines moved, and of handovers, with most threads by distance."""
    cell = _cell(max(plan.counts), "").name
    grids = []
    for name, title in (
        ("transfers", "Cache lines moved per acquisition, by the distance of the line's source"),
        ("handovers", "Share of handovers, by the distance from the last holder to the next"),
    ):
        lines = []
        for lock in plan.locks:
            for run in usual.runs.of(cell, lock):
                line: dict[str, Any] = run.details.get("line", {})
                if name in line:
                    count = max(1, line["acquisitions"])
                    moved = [numbers.plain(each / count) for each in integers(line, name)]
                    lines.append([lock, *moved])
        if lines:
            grids.append(text_grid(f"{title}, {cell}", ["lock", *DISTANCES], lines))
    return grids


def _report(plan: Plan, usual: Report) -> Report:
    machine, ends = plan.setup.machine, len(plan.setup.machine.range_ends())
    pairs = _pairs(plan, usual.cells)
    described = {
        "name": machine.name,
        "title": machine.title,
        "figures": dict(machine.figures),
        "two_hops": machine.two_hops,
        "ranges": dict(machine.ranges),
        "sources": dict(machine.sources),
    }
    return replace(
        usual,
        remarks=[*usual.remarks, *(summary(pairs, ends) if ends else ())],
        page_grids=_by_distance(plan, usual),
        subtitle="Every figure on this page is simulated. None was measured.",
        conditions=dict(sources(machine)),
        more={
            "simulated": True,
            "machine": described,
            "open": [asdict(pair) for pair in pairs],
        },
    )
