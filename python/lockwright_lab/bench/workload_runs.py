"""A workload of the catalogue under several locks, with every combination of its options."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from lockwright.experiment import Cell, Column, Experiment, Outcome, Summary
from lockwright.experiment.columns import no_value
from lockwright.run.bench_program import LIBC
from lockwright.stats.spread import format_spread
from msgspec import structs

from lockwright_lab.bench import runs
from lockwright_lab.bench.catalogue import RATE, Workload
from lockwright_lab.bench.measurement import Given, Measurement, OfTable, Row, declaration

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "max")

TIMES = {
    "acquisition": "from the call, or with --rate from its due time, to the return with the mutex",
    "hold": "from there to the call that unlocks",
    "handover": "from that call to the return of a thread that was waiting by then",
    "operation": "a complete step, likewise from its due time",
}
"""The kinds of times with their meanings."""

METERED, PLAIN = "metered", "plain"

_USAGE = ("cpus", "switches", "moves", "faults")
"""The columns of every workload, also of one without a lock."""

_ONLY_WITH = {
    "admissions": ("average_lwss", "mttr"),
    "calls": ("contended", "futex_calls"),
    "meters": (METERED, "meters_cost"),
}
"""The figures of runs with an option, of which `meters` is any that has metered runs."""


@dataclass(frozen=True)
class Request:
    """The runs to make.

    varied: the values of the threads and of each option with several values; every combination is a
    cell. fixed: all other options. metered: the options that switch meters on; empty for none.
    """

    workload: Workload
    varied: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fixed: Mapping[str, object] = field(default_factory=dict)
    metered: Mapping[str, object] = field(default_factory=dict)
    counting: bool = False

    @property
    def cells(self) -> list[Cell]:
        """A cell for each combination of values."""
        found = []
        for values in itertools.product(*self.varied.values()):
            options = dict(zip(self.varied, values, strict=True))
            found.append(Cell(", ".join(f"{n} {v}" for n, v in options.items()), options))
        return found

    @property
    def left_out(self) -> set[str]:
        """The figures that these runs do not have."""
        wanted = {
            "admissions": self.workload.one_mutex and "admissions" in self.metered,
            "calls": self.counting,
            "meters": bool(self.metered),
        }
        return {name for option, of in _ONLY_WITH.items() if not wanted[option] for name in of}


def _rows(request: Request) -> dict[str, Row]:
    """Return the figures of the main table, in the order of its columns."""
    workload, known = request.workload, declaration("workload").figures
    rate = known[RATE.field]
    meaning = rate.definition.format(operation=workload.operation)
    own = {
        each.field: Row(
            heading=each.heading,
            value=f"measured: {each.field}",
            definition=f"{each.meaning}.",
            lower=each.lower_is_better,
        )
        for each in workload.figures
    }
    used = [row.show.split() for name in _USAGE if " " in (row := known[name]).show]
    of_all = {*_USAGE, *itertools.chain(*used)}
    if not workload.uses_lock:
        return own | {name: row for name, row in known.items() if name in of_all}
    first = {RATE.field: structs.replace(rate, definition=meaning)}
    first |= {name: known[name] for name in ("ratio", "interval")}
    rows = {**first, **own}
    return rows | {n: row for n, row in known.items() if n not in {*rows, *request.left_out}}


def _times(kind: str) -> dict[str, Row]:
    """Return the figures of a kind of time."""
    common = Row(
        unit="ns",
        lower=True,
        scale=1000,
        run=METERED,
        definition="microseconds that this share of them did not exceed (an HDR histogram: at most "
        "0.8 % above); median over the rounds.",
    )
    rows = {
        f"{kind}_count": Row(
            heading="count",
            value=f"latency {kind}: count",
            run=METERED,
            show="sum",
            definition="their number, over all rounds.",
        )
    }
    for name in PERCENTILES:
        value = f"latency {kind}: {name.replace('.', '_')}_ns"
        rows[f"{kind}_{name}_ns"] = structs.replace(common, heading=name, value=value)
    longest = "the longest of all rounds, in microseconds, exact."
    rows[f"{kind}_max_ns"] = structs.replace(rows[f"{kind}_max_ns"], show="max", definition=longest)
    return rows


def _rate(row: Summary) -> str:
    rate = row.over_rounds(RATE.field)
    if row.timeouts:
        return "timed out"
    return format_spread(rate) if rate else no_value(row)


def _interval(row: Summary) -> str:
    found = row.ratio
    if found is None or found.low is None or found.high is None or row.contender == LIBC:
        return "-"
    return f"{found.low:.3f} to {found.high:.3f}"


def _remarks(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    late = dict.fromkeys(row.contender for rows in cells for row in rows if row.timeouts)
    return [f"Did not end in time: {', '.join(late)}."] if late else []


def _both(plain: runs.Call, metered: runs.Call) -> Outcome:
    """Return the outcome of a run without meters, whose details have those of one with meters. The
    order of the two alternates from round to round."""
    made = runs.in_pair(plain.round, {PLAIN: plain.run, METERED: metered.run})
    details = {**made.details, **made.details[PLAIN], METERED: made.details[METERED]}
    of_both = {name: made.details[name] for name in ("problems", "remarks")}
    return replace(made, details={**details, **of_both})


def _run(request: Request, call: runs.Call) -> Outcome:
    metered = request.metered
    made = _both(call, call.having(metered)) if metered else call.run()
    return runs.also_counted(made, call) if request.counting else made


def _measurement(request: Request) -> Measurement:
    workload, rows = request.workload, _rows(request)
    tables = [OfTable(f"{workload.name}: {workload.measures}, {{cell}}", list(rows))]
    for kind in TIMES if "latency" in request.metered else ():
        times = _times(kind)
        rows |= times
        tables.append(
            OfTable(f"{kind} times in microseconds: {TIMES[kind]}, {{cell}}", list(times))
        )
    return Measurement(
        workload.name,
        {RATE.field: _rate, "interval": _interval},
        run=partial(_run, request),
        first=runs.calibration,
        remarks=_remarks,
        further={"reference": LIBC},
        declaration=structs.replace(declaration("workload"), tables=tables, figures=rows),
    )


def all_columns(workload: Workload) -> list[Column]:
    """Return all possible columns of a workload."""
    metered = {"admissions": 1, "latency": 1} if workload.uses_lock else {}
    columns = _measurement(Request(workload, metered=metered, counting=True)).columns
    return list({each.heading: each for each in columns}.values())


def workload_experiment(common: runs.Common, request: Request) -> Experiment:
    """Return the experiment."""
    own = {**request.metered, "calls": request.counting}
    given = Given(common, request.fixed, own, request.cells)
    return _measurement(request).experiment(given)
