"""The cost of `lockwright profile` and of `lockwright run --metrics` for the program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import (
    Column,
    Report,
    empty_table,
    processors,
    progress,
    watching_others,
)
from lockwright.preload import locks
from lockwright.profile import buffer as buffers
from lockwright.profile import collect
from lockwright.profile.buffer import Buffers
from lockwright.profile.watch import Watcher
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats import inference
from lockwright.stats.spread import format_spread, spread
from rich.table import Table

PROFILED = "profiled"
METRICS = "with metrics"


@dataclass(frozen=True)
class Form:
    """A library under which the workloads are measured, and its variables."""

    subject: Subject
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_profiled(self) -> bool:
        return self.subject.name == PROFILED


@dataclass(frozen=True)
class Comparison:
    """Two forms, whose ratio is a cost. title: what the table shows."""

    title: str
    plain: Form
    measured: Form

    @property
    def settings(self) -> list["Setting"]:
        """The settings that it is measured in."""
        return [each for each in SETTINGS if self.measured.is_profiled or not each.of_rwlocks]


def comparisons() -> tuple[Comparison, ...]:
    """Return the two costs: of profiling the C library's mutex, and of the metrics of the default
    lock."""
    registry = locks.registry()
    lock = registry.default
    library = registry.path_of(lock.name)
    return (
        Comparison(
            "Cost of profiling", Form(Subject(LIBC)), Form(Subject(PROFILED, collect.probe_path()))
        ),
        Comparison(
            f"Cost of --metrics with {lock.name}",
            Form(Subject(lock.name, library, lock=lock)),
            Form(Subject(f"{lock.name} {METRICS}", library, lock=lock), {locks.METRICS: "1"}),
        ),
    )


@dataclass(frozen=True)
class Setting:
    """A workload. threads: number for each processor; None if the workload has a fixed number.

    metric: field of the output line of this kind; is_time: lower is better. of_rwlocks: of
    reader-writer locks, which the metrics do not count.
    """

    name: str
    workload: str
    kind: str
    metric: str
    is_time: bool
    threads: int | None
    options: Mapping[str, object]
    meaning: str
    of_rwlocks: bool = False

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
        "one thread that only locks and unlocks",
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
    Setting(
        "uncontended reads",
        "rwlock",
        "measured",
        "read_pair_ns",
        True,
        1,
        {"read-percent": 100},
        "one thread that only read-locks and unlocks a reader-writer lock",
        of_rwlocks=True,
    ),
    Setting(
        "reads",
        "rwlock",
        "measured",
        "reads_per_second",
        False,
        1,
        {"read-percent": 100},
        "a thread for each processor that reads, sections of 200 and gaps of 400 cycles",
        of_rwlocks=True,
    ),
    Setting(
        "reads and writes",
        "rwlock",
        "measured",
        "reads_per_second",
        False,
        1,
        {"read-percent": 90},
        "the same with 10 % writes",
        of_rwlocks=True,
    ),
)
"""The settings, in the order in which they are run."""

COLUMNS = [
    Column("setting", "its name, as above."),
    Column("plain", "nanoseconds of a pair, or operations per second, without either."),
    Column("measured", "the same with the profiler, or with --metrics."),
    Column(
        "cost",
        "additional time of an operation: the median over the rounds of the ratio of the two runs "
        "of a round, less 1. Below 0: it is faster.",
    ),
    Column("95 % CI", "its interval (Conover, Practical Nonparametric Statistics, 3.2)."),
    Column("quartiles", "quartiles of the costs of the rounds."),
]


@dataclass
class Results:
    """The time of an operation of one setting in each round, in any unit, by form. left_out: a
    remark on each round of which a run, or both, has no figure."""

    plain: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def costs(self) -> list[float]:
        """The cost in each round, in per cent."""
        return [
            100 * (measured / plain - 1)
            for plain, measured in zip(self.plain, self.measured, strict=True)
        ]


def measure(
    report: Report,
    rounds: int,
    seconds: float,
    options: Mapping[str, object],
    timeout: float,
    results: dict[tuple[str, str], Results],
) -> None:
    """Run each setting in both forms of each comparison, in an order that alternates from round to
    round; fill `results`, by title and setting, which has the runs so far if a signal ends it."""
    compared = comparisons()
    steps_in_all = rounds * sum(len(comparison.settings) for comparison in compared)
    with watching_others(report), progress("profile-cost", steps_in_all) as steps:
        for round_number in range(rounds):
            for setting in SETTINGS:
                arguments = setting.arguments(seconds)
                arguments |= dict(options) if setting.workload == "lockbench" else {}
                for comparison in compared:
                    if setting not in comparison.settings:
                        continue
                    steps.step(setting.name)
                    forms = [comparison.measured, comparison.plain]
                    of_setting = results.setdefault((comparison.title, setting.name), Results())
                    times: dict[str, float] = {}
                    faults: list[str] = []
                    for form in reversed(forms) if round_number % 2 else forms:
                        outcome = _run(form, setting, arguments, timeout)
                        report.record(form.subject, round_number, outcome, setting=setting.name)
                        line = outcome.line(setting.kind)
                        value = (
                            number(line, setting.metric) if line and not outcome.failure else 0.0
                        )
                        if value > 0:
                            times[form.subject.name] = value if setting.is_time else 1 / value
                        else:
                            reason = outcome.failure or f"no operation in {seconds:g} s"
                            faults.append(f"the run of {form.subject.name}: {reason}")
                    if faults:
                        of_setting.left_out.append(
                            f"{setting.name}: round {round_number + 1} is left out; "
                            + "; ".join(faults)
                        )
                    else:
                        of_setting.plain.append(times[comparison.plain.subject.name])
                        of_setting.measured.append(times[comparison.measured.subject.name])


def _run(form: Form, setting: Setting, arguments: Mapping[str, object], timeout: float) -> Outcome:
    subject = form.subject
    if not form.is_profiled:
        return run(
            subject,
            setting.workload,
            arguments,
            timeout=timeout,
            environment=dict(form.environment),
        )
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
                "the profiler was loaded and recorded nothing", "build or install Lockwright again"
            )
        return outcome


def tables(report: Report, results: Mapping[tuple[str, str], Results]) -> list[Table]:
    """Return a table for each comparison; add their figures to `report`."""
    return [_table(report, comparison, results) for comparison in comparisons()]


def remarks(results: Mapping[tuple[str, str], Results]) -> list[str]:
    """Return what the tables do not show: the rounds that are left out, and why."""
    return [remark for of_setting in results.values() for remark in of_setting.left_out]


def _table(
    report: Report, comparison: Comparison, results: Mapping[tuple[str, str], Results]
) -> Table:
    title = comparison.title
    table = empty_table(f"{title} on {processors()} processors", COLUMNS)
    for setting in comparison.settings:
        of_setting = results.get((title, setting.name), Results())
        costs = spread(of_setting.costs)
        interval = inference.median_interval(of_setting.costs)
        report.rows.append(
            {
                "cost": title,
                "setting": setting.name,
                "rounds": len(of_setting.costs),
                "left_out": of_setting.left_out,
                "cost_percent": costs.median if costs else None,
                "low": interval[0] if interval else None,
                "high": interval[1] if interval else None,
                "quartiles": [costs.low, costs.high] if costs else None,
            }
        )
        table.add_row(
            setting.name,
            _figure(setting, of_setting.plain),
            _figure(setting, of_setting.measured),
            f"{costs.median:+.1f} %" if costs else "-",
            f"{interval[0]:+.1f} to {interval[1]:+.1f} %" if interval else "-",
            f"{costs.low:+.1f} to {costs.high:+.1f} %" if costs else "-",
        )
    return table


def _figure(setting: Setting, times: Sequence[float]) -> str:
    figures = spread(times if setting.is_time else [1 / time for time in times])
    return f"{format_spread(figures)} {'ns' if setting.is_time else 'op/s'}" if figures else "-"
