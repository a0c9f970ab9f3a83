"""Runs of one workload of the catalogue under several locks, and their tables."""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lockwright.base import files
from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    LOCK,
    Column,
    Report,
    empty_table,
    labels_text,
    progress,
    watching_others,
)
from lockwright.compare import stats
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.run.tools import Line
from lockwright.stats import inference
from lockwright.stats.spread import Spread, format_ratio, format_spread, spread
from rich.table import Table

from lockwright_lab.bench.catalogue import RATE, Workload
from lockwright_lab.bench.output import csv_text

PERCENTILES = ("p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns")

RATIO = Column(
    "ratio to libc",
    "per round, this lock's figure divided by that of libc in the same round; median over the "
    "rounds. Higher is better.",
)
INTERVAL = Column(
    "95 % CI",
    "95 % confidence interval of the ratio's geometric mean: Student's t on the logarithms of the "
    "rounds' ratios.",
)
USAGE = [
    Column(
        "gini",
        "Gini coefficient of the operations of each thread: 0 if all did as many, near 1 if one "
        "did all; median over the rounds.",
    ),
    Column(
        "rel. sd",
        "standard deviation of the operations of each thread, over their mean; median over the "
        "rounds.",
    ),
    Column("cpus", "processor time that the process used per second; median over the rounds."),
    Column(
        "sync cpus",
        "the same without the work of sections and gaps, for workloads that have such: the time of "
        "acquiring, waiting and releasing (Marotta et al., Mutable Locks, 2019, figure 3).",
    ),
    Column(
        "switches per 1000",
        "context switches of the process, voluntary + involuntary, per 1000 operations "
        "(getrusage).",
    ),
    Column(
        "moves",
        "migrations of threads to another processor, per second; '-' if the kernel does not count "
        "them (/proc/thread-self/sched).",
    ),
    Column("faults", "page faults per 1000 operations, minor and major (getrusage)."),
]
ORDER = [
    Column(
        "LWSS",
        "average lock working set size: the number of different threads in a window of the "
        "admission order, on average over the disjoint complete windows (Dice, Malthusian Locks, "
        "EuroSys 2017, section 6). From metered runs.",
    ),
    Column(
        "MTTR",
        "median time to reacquire: the median, over all admissions, of the number of admissions "
        "since the previous one of the same thread; a round robin of 32 threads has 31 (ibidem). "
        "From metered runs.",
    ),
]
CALLS = [
    Column("contended", "share of the acquisitions that found the mutex held; from counting runs."),
    Column("futex per 1000", "futex waits + wakes per 1000 operations; from counting runs."),
]
COST = Column(
    "meters cost",
    "per round, the rate of the metered run divided by that of the run without meters; median over "
    "the rounds. At 1 the meters cost nothing.",
)
LATENCIES = [
    Column(
        "time",
        "acquisition: from the call, or with --rate from its due time, to the return with the "
        "mutex. hold: from there to the call that unlocks. handover: from that call to the return "
        "of a thread that was waiting by then. operation: a complete step, likewise from its due "
        "time.",
    ),
    Column("count", "their number, over all rounds."),
    *(
        Column(
            name.removesuffix("_ns"),
            "microseconds that this share of them did not exceed (an HDR histogram: at most 0.8 % "
            "above); median over the rounds."
            if name != "max_ns"
            else "the longest of all rounds, in microseconds, exact.",
        )
        for name in PERCENTILES
    ),
]


@dataclass(frozen=True)
class Request:
    """The runs to make.

    varied: the values of the threads and of each option with several values; every combination is
    run. fixed: all other options. metered: the options that switch meters on; empty for none.
    """

    workload: Workload
    varied: Mapping[str, Sequence[str]]
    fixed: Mapping[str, object]
    metered: Mapping[str, object]
    counting: bool
    rounds: int
    timeout: float


@dataclass
class _LockResults:
    """The output lines of the runs of one lock with one combination of options, by round."""

    plain: dict[int, Line] = field(default_factory=dict)
    metered: dict[int, Line] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    counted: list[tuple[Line, Outcome]] = field(default_factory=list)
    timed_out: int = 0


def columns(workload: Workload) -> list[Column]:
    """Return all possible columns of the main table."""
    return [column for column, _ in _cells(workload, "admissions", calls=True, metered=True)]


_Row = Mapping[str, object]
_Cell = tuple[Column, Callable[[_Row], str]]


def _cells(workload: Workload, *meters: str, calls: bool, metered: bool) -> list[_Cell]:
    """Return the columns of the main table, each with a function from a row to its text."""
    figures: list[_Cell] = [
        (Column(f.heading, f"{f.meaning}."), partial(_figure, name=f.field))
        for f in workload.figures
    ]
    gini, deviation, cpus, sync, switches, moves, faults = USAGE
    usage: list[_Cell] = [
        (cpus, partial(_median, name="cpus")),
        (switches, partial(_sum, first="voluntary_per_1000", second="involuntary_per_1000")),
        (moves, partial(_plain, name="migrations_per_second")),
        (faults, partial(_sum, first="minor_faults_per_1000", second="major_faults_per_1000")),
    ]
    if not workload.uses_lock:
        return [*figures, *usage]
    rate = f"{workload.operation} per second, of all threads together; median over the rounds."
    cells: list[_Cell] = [
        (LOCK, lambda row: str(row["lock"])),
        (Column(RATE.heading, rate), _rate),
        (RATIO, lambda row: format_ratio(_spread(row["ratio"]))),
        (INTERVAL, _interval),
        *figures,
        (gini, partial(_median, name="gini")),
        (deviation, partial(_median, name="relative_deviation")),
        (sync, partial(_median, name="synchronisation_cpus")),
        *usage,
    ]
    if workload.one_mutex and "admissions" in meters:
        cells.append((ORDER[0], partial(_median, name="average_lwss", digits=1)))
        cells.append((ORDER[1], partial(_median, name="mttr", digits=0)))
    if calls:
        cells.append((CALLS[0], partial(_median, name="contended")))
        cells.append((CALLS[1], partial(_figure, name="futex_calls_per_1000")))
    if metered:
        cells.append((COST, partial(_median, name="meters_cost", digits=3)))
    return cells


def measure(report: Report, chosen: list[Subject], request: Request) -> list[Table]:
    """Fill `report`, and return its tables.

    Each round runs every lock once, in an order shuffled for the round and the combination.
    """
    names = list(request.varied)
    combinations = list(itertools.product(*request.varied.values()))
    results: dict[tuple[str, tuple[str, ...]], _LockResults] = defaultdict(_LockResults)
    steps_in_all = request.rounds * len(combinations) * len(chosen)
    workload = request.workload.name
    with watching_others(report), progress(workload, steps_in_all) as steps:
        for round_number in range(request.rounds):
            for combination in combinations:
                order = list(chosen)
                random.Random(f"{workload} {combination} {round_number}").shuffle(order)
                labels: dict[str, object] = dict(zip(names, combination, strict=True))
                for subject in order:
                    steps.step(f"{subject.name}, " + labels_text(labels))
                    lock_results = results[subject.name, combination]
                    if lock_results.timed_out < stats.GIVE_UP:
                        _run_round(report, subject, round_number, request, labels, lock_results)
    for combination in combinations:
        labels = dict(zip(names, combination, strict=True))
        for subject in chosen:
            libc = results[LIBC, combination]
            row = _row(request, results[subject.name, combination], libc)
            report.rows.append({"lock": subject.name, **labels, **row})
    return _tables(report, request)


def _run_round(
    report: Report,
    subject: Subject,
    round_number: int,
    request: Request,
    labels: Mapping[str, object],
    results: _LockResults,
) -> None:
    options = {**request.fixed, **labels}
    modes: list[Mapping[str, object]] = [{}]
    if request.metered:
        # The order of the two alternates from round to round.
        modes.insert(round_number % 2, request.metered)
    for meters in modes:
        outcome = run(
            subject, request.workload.name, {**options, **meters}, timeout=request.timeout
        )
        report.record(subject, round_number, outcome, **labels, metered=bool(meters))
        results.timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is not None and (outcome.timed_out or not outcome.failure):
            (results.metered if meters else results.plain)[round_number] = line
            if meters:
                results.outcomes.append(outcome)
    if request.counting and subject.counting is not None:
        outcome = run(
            subject, request.workload.name, options, timeout=request.timeout, counting=True
        )
        report.record(subject, round_number, outcome, **labels, counting=True)
        line = outcome.line("final")
        if line is not None and outcome.counts is not None and not outcome.failure:
            results.counted.append((line, outcome))


def _row(request: Request, results: _LockResults, libc: _LockResults) -> dict[str, object]:
    """Return the figures of one lock with one combination, None where missing."""
    main = request.workload.main.field
    lines = results.plain.values()

    def over_rounds(name: str) -> Spread | None:
        return spread([number(line, name) for line in lines if name in line])

    def per(divisor: str, name: str, factor: float = 1.0) -> Spread | None:
        known = [line for line in lines if name in line and number(line, divisor)]
        return spread([factor * number(line, name) / number(line, divisor) for line in known])

    both = [(line, libc.plain[n]) for n, line in results.plain.items() if n in libc.plain]
    rates = [(number(line, main), number(libc_line, main)) for line, libc_line in both]
    rates = [(rate, libc_rate) for rate, libc_rate in rates if rate > 0 and libc_rate > 0]
    ratio = inference.paired_ratio([rate for rate, _ in rates], [base for _, base in rates], False)
    interval = None if ratio is None or ratio.low is None else [ratio.low, ratio.high]
    fields = dict.fromkeys([f.field for f in request.workload.figures] + [RATE.field])
    row: dict[str, object] = {
        **{name: over_rounds(name) for name in fields},
        "ratio": spread([rate / libc_rate for rate, libc_rate in rates]),
        "interval": interval,
        "gini": over_rounds("gini"),
        "relative_deviation": over_rounds("relative_deviation"),
        "cpus": per("seconds", "processor_seconds"),
        "synchronisation_cpus": per("seconds", "synchronisation_seconds"),
        "voluntary_per_1000": per("operations", "voluntary", 1000),
        "involuntary_per_1000": per("operations", "involuntary", 1000),
        "migrations_per_second": per("seconds", "migrations"),
        "minor_faults_per_1000": per("operations", "minor_faults", 1000),
        "major_faults_per_1000": per("operations", "major_faults", 1000),
        "timed_out": results.timed_out,
    }
    if request.metered:
        paired = [
            (number(line, RATE.field), number(results.plain[round_number], RATE.field))
            for round_number, line in results.metered.items()
            if round_number in results.plain
        ]
        row["meters_cost"] = spread([metered / bare for metered, bare in paired if bare])
        row["average_lwss"] = _figure_of_kind(results, "admissions", "average_lwss")
        row["mttr"] = _figure_of_kind(results, "admissions", "mttr")
        row["latencies"] = _latencies(results)
    if request.counting:
        row["contended"] = spread(
            [
                o.counts.contended / o.counts.acquisitions
                for _, o in results.counted
                if o.counts is not None and o.counts.acquisitions
            ]
        )
        row["futex_calls_per_1000"] = spread(
            [
                1000 * (o.counts.futex_waits + o.counts.futex_wakes) / number(line, "operations")
                for line, o in results.counted
                if o.counts is not None and number(line, "operations")
            ]
        )
    return row


def _figure_of_kind(results: _LockResults, kind: str, name: str) -> Spread | None:
    lines = [outcome.line(kind) for outcome in results.outcomes]
    return spread([number(line, name) for line in lines if line is not None and name in line])


def _latencies(results: _LockResults) -> dict[str, dict[str, object]]:
    """Return for each kind of time its count, the percentiles over the rounds and the longest."""
    latencies: dict[str, dict[str, object]] = {}
    by_kind: dict[str, list[Line]] = defaultdict(list)
    for outcome in results.outcomes:
        for line in outcome.lines:
            if line.get("kind") == "latency":
                by_kind[str(line["what"])].append(line)
    for kind, lines in by_kind.items():
        figures: dict[str, object] = {
            name: spread([number(line, name) for line in lines]) for name in PERCENTILES
        }
        figures["max_ns"] = max(number(line, "max_ns") for line in lines)
        figures["count"] = sum(int(number(line, "count")) for line in lines)
        latencies[kind] = figures
    return latencies


def _spread(value: object) -> Spread | None:
    return value if isinstance(value, Spread) else None


def _figure(row: _Row, name: str) -> str:
    return format_spread(_spread(row[name]))


def _plain(row: _Row, name: str) -> str:
    figure = _spread(row[name])
    return "-" if figure is None else plain(figure.median)


def _median(row: _Row, name: str, digits: int = 2) -> str:
    figure = _spread(row[name])
    return "-" if figure is None else f"{figure.median:.{digits}f}"


def _sum(row: _Row, first: str, second: str) -> str:
    return f"{_plain(row, first)} + {_plain(row, second)}"


def _rate(row: _Row) -> str:
    return "timed out" if row["timed_out"] else _figure(row, RATE.field)


def _interval(row: _Row) -> str:
    interval = row["interval"]
    if not isinstance(interval, list) or row["lock"] == LIBC:
        return "-"
    return f"{interval[0]:.3f} to {interval[1]:.3f}"


def _microseconds(value: object) -> str:
    return (
        format_spread(value, 1000) if isinstance(value, Spread) else plain(float(str(value)) / 1000)
    )


def _tables(report: Report, request: Request) -> list[Table]:
    workload, varied = request.workload, list(request.varied)
    options = [Column(name, "the value of the option.") for name in varied]
    cells = _cells(
        workload, *request.metered, calls=request.counting, metered=bool(request.metered)
    )
    table = empty_table(
        f"{workload.name}: {workload.measures}", [*options, *(column for column, _ in cells)]
    )
    for row in report.rows:
        table.add_row(
            *(str(row[name]) for name in varied), *(show_cell(row) for _, show_cell in cells)
        )
    if "latency" not in request.metered:
        return [table]
    times = empty_table("Times in microseconds", [*options, LOCK, *LATENCIES])
    for row in report.rows:
        latencies = row["latencies"]
        assert isinstance(latencies, dict)
        for kind, figures in latencies.items():
            times.add_row(
                *(str(row[name]) for name in varied),
                str(row["lock"]),
                kind,
                f"{figures['count']:,}",
                *(_microseconds(figures[name]) for name in PERCENTILES),
            )
    return [table, times]


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a line for each row, with median and quartiles of figures that vary over rounds."""
    files.write(path, csv_text([dict(_flat(row)) for row in rows]), "--csv")


def _flat(row: Mapping[str, object], prefix: str = "") -> list[tuple[str, object]]:
    cells: list[tuple[str, object]] = []
    for key, value in row.items():
        name = prefix + key
        if isinstance(value, Spread):
            cells += [
                (name, value.median),
                (f"{name}_low", value.low),
                (f"{name}_high", value.high),
            ]
        elif isinstance(value, dict):
            cells += _flat(value, f"{name}_")
        elif isinstance(value, list):
            cells += [(f"{name}_low", value[0]), (f"{name}_high", value[1])]
        else:
            cells.append((name, value))
    return cells
