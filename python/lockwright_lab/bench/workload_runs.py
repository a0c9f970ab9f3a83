"""A workload of the catalogue under several locks, with every combination of its options."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lockwright.experiment import (
    Cell,
    Column,
    Experiment,
    Figure,
    Outcome,
    Relative,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.run.bench_program import LIBC

from lockwright_lab.bench import runs
from lockwright_lab.bench.catalogue import RATE, Workload

PERCENTILES = ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns")

TIMES = {
    "acquisition": "from the call, or with --rate from its due time, to the return with the mutex",
    "hold": "from there to the call that unlocks",
    "handover": "from that call to the return of a thread that was waiting by then",
    "operation": "a complete step, likewise from its due time",
}
"""The kinds of times with their meanings."""

METERED, PLAIN = "metered", "plain"


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


def _measured(name: str, **more: Any) -> Figure:
    """Return a figure of the run without meters, a field of its measurement."""
    per, factor = more.pop("per", None), more.pop("factor", 1.0)
    field_name = more.pop("field", name)
    value = runs.field("measured", field_name, per, factor)
    return Figure(name, more.pop("unit", ""), value=value, **more)


GINI = _measured(
    "gini",
    lower_is_better=True,
    definition="Gini coefficient of the operations of each thread: 0 if all did as many, near 1 if "
    "one did all; median over the rounds.",
)
DEVIATION = _measured(
    "relative_deviation",
    lower_is_better=True,
    heading="rel. sd",
    definition="standard deviation of the operations of each thread, over their mean; median over "
    "the rounds.",
)
CPUS = _measured(
    "cpus",
    field="processor_seconds",
    per="seconds",
    definition="processor time that the process used per second; median over the rounds.",
)
SYNC = _measured(
    "synchronisation_cpus",
    field="synchronisation_seconds",
    per="seconds",
    heading="sync cpus",
    lower_is_better=True,
    definition="the same without the work of sections and gaps, for workloads that have such: the "
    "time of acquiring, waiting and releasing (Marotta et al., Mutable Locks, 2019, figure 3).",
)
MOVES = _measured(
    "migrations_per_second",
    field="migrations",
    per="seconds",
    heading="moves",
    definition="migrations of threads to another processor, per second; '-' if the kernel does not "
    "count them (/proc/thread-self/sched).",
)
SWITCHES, FAULTS = (
    [_measured(f"{name}_per_1000", field=name, per="operations", factor=1000) for name in names]
    for names in (("voluntary", "involuntary"), ("minor_faults", "major_faults"))
)


def _of_admissions(name: str, heading: str, digits: int, definition: str) -> tuple[Figure, Column]:
    value = _metered(runs.field("admissions", name))
    figure = Figure(name, "", True, definition, heading, value=value)
    return figure, make.median(figure, make.fixed(digits))


def _metered(figure: runs.Value) -> runs.Value:
    """Return a figure of the run with meters."""

    def value(made: Outcome) -> float | None:
        details = made.details.get(METERED)
        return None if details is None else figure(replace(made, details=details))

    return value


ORDER = [
    _of_admissions(
        "average_lwss",
        "LWSS",
        1,
        "average lock working set size: the number of different threads in a window of the "
        "admission order, on average over the disjoint complete windows (Dice, Malthusian Locks, "
        "EuroSys 2017, section 6). From metered runs.",
    ),
    _of_admissions(
        "mttr",
        "MTTR",
        0,
        "median time to reacquire: the median, over all admissions, of the number of admissions "
        "since the previous one of the same thread; a round robin of 32 threads has 31 (ibidem). "
        "From metered runs.",
    ),
]


def _futex_calls(made: Outcome) -> float | None:
    counting = made.details.get("counting", {})
    counts: dict[str, float] = counting.get("counts") or {}
    operations = runs.field("final", "operations")(replace(made, details=counting))
    if not operations or "futex_waits" not in counts:
        return None
    return 1000 * (counts["futex_waits"] + counts["futex_wakes"]) / operations


CONTENDED = Figure(
    "contended",
    "",
    definition="share of the acquisitions that found the mutex held; from counting runs.",
    value=runs.counted("contended", "acquisitions"),
)
CALLS = Figure(
    "futex_calls_per_1000",
    "",
    definition="futex waits + wakes per 1000 operations; from counting runs.",
    heading="futex per 1000",
    value=_futex_calls,
)
_rate = runs.field("measured", RATE.field)
COST = Figure(
    "meters_cost",
    "",
    definition="per round, the rate of the metered run divided by that of the run without meters; "
    "median over the rounds. At 1 the meters cost nothing.",
    heading="meters cost",
    value=runs.quotient(_metered(_rate), _rate),
)


def _time(kind: str, name: str) -> Figure:
    def value(made: Outcome) -> float | None:
        for line in made.details.get(METERED, {}).get("lines", ()):
            if line.get("kind") == "latency" and line["what"] == kind and name in line:
                return float(line[name])
        return None

    share = name.removesuffix("_ns")
    meaning = (
        "the longest of all rounds, in microseconds, exact."
        if share == "max"
        else "microseconds that this share of them did not exceed (an HDR histogram: at most 0.8 % "
        "above); median over the rounds."
    )
    return Figure(f"{kind}_{name}", "ns", True, meaning, share, 1000, value)


def _times(kind: str) -> tuple[list[Figure], TableOf]:
    """Return the figures of a kind of time, and their table."""
    number = Figure(
        f"{kind}_count",
        "",
        definition="their number, over all rounds.",
        heading="count",
        value=_time(kind, "count").value,
    )
    shares = [_time(kind, name) for name in PERCENTILES]
    columns = [
        make.name(definition=runs.LOCK),
        make.extreme(number, sum, lambda count: f"{count:,.0f}"),
        *map(make.with_spread, shares[:-1]),
        make.extreme(shares[-1], max),
    ]
    title = f"{kind} times in microseconds: {TIMES[kind]}"

    def titled(cell: Cell) -> str:
        return ", ".join(filter(None, [title, cell.name]))

    return [number, *shares], TableOf(columns, titled, lambda row: bool(row.by_round(number.name)))


def _rates(workload: Workload) -> tuple[list[Figure], list[Column]]:
    """Return the figures by which locks are compared, and their columns."""
    rate = _measured(
        RATE.field,
        unit="1/s",
        heading=RATE.heading,
        definition=f"{workload.operation} per second, of all threads together; median over the "
        "rounds.",
    )
    ratio = Figure(
        "ratio",
        "",
        definition="per round, this lock's figure divided by that of libc in the same round; median"
        " over the rounds. Higher is better.",
        heading="ratio to libc",
        relative=Relative(rate.name, contender=LIBC),
    )

    def interval(row: Summary) -> str:
        found = row.ratio
        if found is None or found.low is None or found.high is None or row.contender == LIBC:
            return "-"
        return f"{found.low:.3f} to {found.high:.3f}"

    def speed(row: Summary) -> str:
        return "timed out" if row.timeouts else make.with_spread(rate).text(row)

    text = (
        "95 % confidence interval of the ratio's geometric mean: Student's t on the logarithms of "
        "the rounds' ratios."
    )
    return [rate, ratio], [
        make.name(definition=runs.LOCK),
        replace(make.with_spread(rate), text=speed),
        make.own_ratio(ratio),
        Column("95 % CI", text, interval),
    ]


def figures_and_columns(request: Request) -> tuple[list[Figure], list[Column]]:
    """Return the figures of a workload, the main one first, and the columns of the main table."""
    workload = request.workload
    own = [
        _measured(
            each.field,
            heading=each.heading,
            definition=f"{each.meaning}.",
            lower_is_better=each.lower_is_better,
        )
        for each in workload.figures
    ]
    used = [CPUS, *SWITCHES, MOVES, *FAULTS]
    switches = (
        "context switches of the process, voluntary + involuntary, per 1000 operations (getrusage)."
    )
    faults = "page faults per 1000 operations, minor and major (getrusage)."
    usage = [
        make.median(CPUS, make.fixed(2)),
        Column("switches per 1000", switches, make.joined(*map(make.median, SWITCHES))),
        make.median(MOVES),
        Column("faults", faults, make.joined(*map(make.median, FAULTS))),
    ]
    if not workload.uses_lock:
        return [*own, *used], [*map(make.with_spread, own), *usage]
    figures, columns = _rates(workload)
    figures += [*own, GINI, DEVIATION, SYNC, *used]
    columns += map(make.with_spread, own)
    columns += [make.median(each, make.fixed(2)) for each in (GINI, DEVIATION, SYNC)]
    columns += usage
    if workload.one_mutex and "admissions" in request.metered:
        figures += [figure for figure, _ in ORDER]
        columns += [column for _, column in ORDER]
    if request.counting:
        figures += [CONTENDED, CALLS]
        columns += [make.median(CONTENDED, make.fixed(2)), make.with_spread(CALLS)]
    if request.metered:
        figures.append(COST)
        columns.append(make.median(COST, make.fixed(3)))
    return list({each.name: each for each in figures}.values()), columns


def all_columns(workload: Workload) -> list[Column]:
    """Return all possible columns of a workload."""
    every = Request(workload, metered={"admissions": 1}, counting=True)
    columns = figures_and_columns(every)[1]
    return [*columns, *_times("acquisition")[1].columns[1:]] if workload.uses_lock else columns


def _remarks(cells: Sequence[Sequence[Summary]]) -> list[str]:
    late = dict.fromkeys(row.contender for rows in cells for row in rows if row.timeouts)
    return [f"Did not end in time: {', '.join(late)}."] if late else []


def _both(plain: runs.Call, metered: runs.Call) -> Outcome:
    """Return the outcome of a run without meters, whose details have those of one with meters. The
    order of the two alternates from round to round."""
    made = runs.in_pair(plain.round, {PLAIN: plain.run, METERED: metered.run})
    details = {**made.details, **made.details[PLAIN], METERED: made.details[METERED]}
    of_both = {name: made.details[name] for name in ("problems", "remarks")}
    return replace(made, details={**details, **of_both})


def workload_experiment(common: runs.Common, request: Request) -> Experiment:
    """Return the experiment."""
    workload = request.workload
    figures, columns = figures_and_columns(request)
    title = f"{workload.name}: {workload.measures}"
    tables = [TableOf(columns, lambda cell: ", ".join(filter(None, [title, cell.name])))]
    if "latency" in request.metered:
        for kind in TIMES:
            of_kind, table = _times(kind)
            figures += of_kind
            tables.append(table)

    def run(call: runs.Call) -> Outcome:
        made = _both(call, call.having(request.metered)) if request.metered else call.run()
        return runs.also_counted(made, call) if request.counting else made

    return runs.experiment(
        workload.name,
        common,
        figures,
        tables,
        request.fixed,
        request.cells,
        make=run,
        first=runs.calibration,
        remarks=_remarks,
        reference=LIBC,
        settings={
            **{name: list(values) for name, values in request.varied.items()},
            **request.fixed,
            **request.metered,
            "calls": request.counting,
            "timeout": common.timeout,
        },
    )
