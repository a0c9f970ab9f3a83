"""The cost of `lockwright profile` for the profiled program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from lockwright.base.errors import LockwrightError
from lockwright.bench.report import Column, Report, processors, progress, table, watching_others
from lockwright.profile import buffer as buffers
from lockwright.profile import collect
from lockwright.profile.buffer import Buffers
from lockwright.profile.watch import Watcher
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats import inference
from lockwright.stats.spread import Spread, format_spread, spread

PROFILED = "profiled"


@dataclass(frozen=True)
class Setting:
    """A workload. threads: for each processor; None where the workload has its own number.

    metric: field of the line of this kind; is_time: less of it is better.
    """

    name: str
    workload: str
    kind: str
    metric: str
    is_time: bool
    threads: int | None
    options: Mapping[str, object]
    meaning: str

    def arguments(self, seconds: float) -> dict[str, object]:
        """Return the options of the measuring program."""
        if self.threads is None:
            # A pair takes some nanoseconds.
            return {**self.options, "batches": max(1, round(seconds * 1e3))}
        return {**self.options, "threads": self.threads * processors(), "seconds": seconds}


SETTINGS = (
    Setting(
        "uncontended",
        "uncontended",
        "result",
        "median_ns_per_pair",
        True,
        None,
        {"batch": 100_000},
        "one thread that locks and unlocks and does nothing else",
    ),
    Setting(
        "contended",
        "lockbench",
        "measured",
        "operations_per_second",
        False,
        1,
        {"preset": "short-long", "warm-up": 0.05},
        "a thread for each processor, sections up to 3.7 µs, gaps up to 366 µs (Marotta et al., "
        "Mutable Locks, 2019, figure 3 (e))",
    ),
    Setting(
        "saturated",
        "lockbench",
        "measured",
        "operations_per_second",
        False,
        1,
        {"preset": "short-short", "warm-up": 0.05},
        "a thread for each processor, sections and gaps up to 3.7 µs (ibidem, figure 3 (a))",
    ),
    Setting(
        "over-subscribed",
        "lockbench",
        "measured",
        "operations_per_second",
        False,
        4,
        {"preset": "short-short", "warm-up": 0.05},
        "the same with four threads for each processor",
    ),
)
"""The settings, in the order in which they are run."""

COLUMNS = [
    Column("setting", "see above."),
    Column("plain", "nanoseconds of a pair, or operations per second, without the profiler."),
    Column("profiled", "the same with it."),
    Column(
        "cost",
        "by how much an operation takes longer with it: the median over the rounds of the ratio of "
        "the two runs of a round, less 1. Below 0: it is faster.",
    ),
    Column("95 % CI", "of that median (Conover, Practical Nonparametric Statistics, 3.2)."),
    Column("quartiles", "of the costs of the rounds."),
]


@dataclass
class LockResults:
    """The time of an operation in each round, in any unit, by form."""

    plain: list[float] = field(default_factory=list)
    profiled: list[float] = field(default_factory=list)

    @property
    def costs(self) -> list[float]:
        """The cost in each round, in per cent."""
        return [
            100 * (with_it / without - 1)
            for without, with_it in zip(self.plain, self.profiled, strict=True)
        ]


def measure(
    report: Report,
    rounds: int,
    seconds: float,
    given: Mapping[str, object],
    timeout: float,
    results: dict[str, LockResults],
) -> None:
    """Run each setting in both forms, one after the other, whose order alternates from round to
    round; fill `results`, which has the runs so far if a signal ends it."""
    probe = collect.probe_path()
    with watching_others(report), progress("profile-cost", rounds * len(SETTINGS)) as steps:
        for round_number in range(rounds):
            for setting in SETTINGS:
                steps.step(setting.name)
                arguments = setting.arguments(seconds)
                arguments |= dict(given) if setting.threads is not None else {}
                pair: dict[str, float] = {}
                for form in (LIBC, PROFILED) if round_number % 2 else (PROFILED, LIBC):
                    subject = Subject(form, probe if form == PROFILED else None)
                    outcome = _one(subject, setting, arguments, timeout)
                    report.record(subject, round_number, outcome, setting=setting.name)
                    line = outcome.line(setting.kind)
                    if line is not None and not outcome.failure:
                        value = number(line, setting.metric)
                        if value <= 0:
                            continue
                        pair[form] = value if setting.is_time else 1 / value
                if len(pair) == 2:
                    one = results.setdefault(setting.name, LockResults())
                    one.plain.append(pair[LIBC])
                    one.profiled.append(pair[PROFILED])


def _one(
    subject: Subject, setting: Setting, arguments: Mapping[str, object], timeout: float
) -> Outcome:
    if subject.plain is None:
        return run(subject, setting.workload, arguments, timeout=timeout)
    with buffers.new() as path:
        process_buffers = Buffers(path)
        watcher = Watcher(process_buffers)
        watcher.start()
        try:
            outcome = run(
                subject,
                setting.workload,
                arguments,
                timeout=timeout,
                environment={buffers.VARIABLE: str(path)},
            )
        finally:
            watcher.stop()
        if not outcome.failure and not process_buffers.first.records["samples"].any():
            raise LockwrightError(
                "the profiler was loaded and saw nothing", "build or install Lockwright again"
            )
        return outcome


def tables(report: Report, results: Mapping[str, LockResults]) -> list[Table]:
    """The table, whose figures go into `report`."""
    shown = table(f"What profiling costs on {processors()} processors", COLUMNS)
    for setting in SETTINGS:
        one = results.get(setting.name, LockResults())
        costs = spread(one.costs)
        interval = inference.median_interval(one.costs)
        report.rows.append(
            {
                "setting": setting.name,
                "rounds": len(one.costs),
                "cost_percent": costs.median if costs else None,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "quartiles": [costs.low, costs.high] if costs else None,
            }
        )
        shown.add_row(
            setting.name,
            _value(setting, one.plain),
            _value(setting, one.profiled),
            f"{costs.median:+.1f} %" if costs else "-",
            f"{interval[0]:+.1f} to {interval[1]:+.1f} %" if interval else "-",
            _quartiles(costs),
        )
    return [shown]


def _value(setting: Setting, taken: Sequence[float]) -> str:
    figures = spread(taken if setting.is_time else [1 / each for each in taken])
    return f"{format_spread(figures)} {'ns' if setting.is_time else 'op/s'}" if figures else "-"


def _quartiles(costs: Spread | None) -> str:
    return f"{costs.low:+.1f} to {costs.high:+.1f} %" if costs else "-"
