"""The cost of `lockwright profile` and of `lockwright run --metrics` for the program."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from lockwright.base.errors import LockwrightError
from lockwright.experiment import (
    LEFT_OUT,
    Cell,
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.preload import locks
from lockwright.profile import buffer as buffers
from lockwright.profile import collect
from lockwright.profile.buffer import Buffers
from lockwright.profile.watch import Watcher
from lockwright.run.bench_program import LIBC, Subject, number, run
from lockwright.run.bench_program import Outcome as Measured
from lockwright.stats import inference
from lockwright.stats.spread import format_spread, spread

from lockwright_lab.bench import runs

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
        return {**self.options, "threads": self.threads * runs.processors(), "seconds": seconds}


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

COST = Figure(
    "cost_percent",
    "%",
    lower_is_better=True,
    definition="additional time of an operation: the median over the rounds of the ratio of the two"
    " runs of a round, less 1. Below 0: it is faster.",
    heading="cost",
)
TIMES = [
    Figure(
        "plain",
        "",
        lower_is_better=True,
        definition="nanoseconds of a pair, or operations per second, without either.",
    ),
    Figure(
        "measured",
        "",
        lower_is_better=True,
        definition="the same with the profiler, or with --metrics.",
    ),
]


def _figure(figure: Figure) -> Column:
    def text(row: Summary) -> str:
        setting: Setting = row.of_contender.subject
        times = row.by_round(figure.name).values()
        figures = spread([time if setting.is_time else 1 / time for time in times])
        unit = "ns" if setting.is_time else "op/s"
        return "-" if figures is None else f"{format_spread(figures)} {unit}"

    return Column(figure.name, figure.definition, text)


def _limits(low: float, high: float) -> str:
    return f"{low:+.1f} to {high:+.1f} %"


def _cost(row: Summary) -> str:
    costs = row.over_rounds(COST.name)
    return "-" if costs is None else f"{costs.median:+.1f} %"


def _interval(row: Summary) -> str:
    interval = inference.median_interval(list(row.by_round(COST.name).values()))
    return "-" if interval is None else _limits(*interval)


def _quartiles(row: Summary) -> str:
    costs = row.over_rounds(COST.name)
    return "-" if costs is None else _limits(costs.low, costs.high)


COLUMNS = [
    make.name("setting", "its name, as above."),
    *map(_figure, TIMES),
    Column(COST.heading, COST.definition, _cost),
    Column(
        "95 % CI", "its interval (Conover, Practical Nonparametric Statistics, 3.2).", _interval
    ),
    Column("quartiles", "quartiles of the costs of the rounds.", _quartiles),
]


def _run(form: Form, setting: Setting, arguments: Mapping[str, object], timeout: float) -> Measured:
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


def _pair(
    comparison: Comparison,
    setting: Setting,
    round_number: int,
    arguments: Mapping[str, object],
    timeout: float,
) -> Outcome:
    """Return the outcome of both forms. A round of which a run has no figure has none."""
    times: dict[str, float] = {}
    faults: list[str] = []

    def measured(form: Form) -> Outcome:
        made = _run(form, setting, arguments, timeout)
        line = made.line(setting.kind)
        value = number(line, setting.metric) if line and not made.failure else 0.0
        if value > 0:
            times[form.subject.name] = value if setting.is_time else 1 / value
        else:
            reason = made.failure or "no operation"
            faults.append(f"the run of {form.subject.name}: {reason}")
        return runs.outcome(form.subject, made)

    forms = {"measured": comparison.measured, "plain": comparison.plain}
    made = runs.in_pair(
        round_number, {name: partial(measured, form) for name, form in forms.items()}
    )
    if faults:
        why = f"{setting.name}: round {round_number} is left out; {'; '.join(sorted(faults))}"
        return replace(made, details={**made.details, "remarks": [why]})
    figures = {name: times[form.subject.name] for name, form in forms.items()}
    cost = 100 * (figures["measured"] / figures["plain"] - 1)
    return replace(made, figures={**figures, COST.name: cost})


def profile_cost(common: runs.Common, seconds: float) -> Experiment:
    """Return the experiment, whose contenders are settings. seconds: of a run."""
    compared = {each.title: each for each in comparisons()}
    known: dict[str, object] = {}

    def run_setting(cell: Cell, contender: Contender, round_number: int) -> Outcome:
        comparison, setting = compared[cell.name], contender.subject
        if setting not in comparison.settings:
            return Outcome(LEFT_OUT)
        arguments = setting.arguments(seconds)
        arguments |= known if setting.workload == "lockbench" else {}
        return _pair(comparison, setting, round_number, arguments, common.timeout)

    return Experiment(
        "profile-cost",
        [Cell(title, {"cost": title}) for title in compared],
        [Contender(each.name, subject=each) for each in SETTINGS],
        [COST, *TIMES],
        run_setting,
        common.runs,
        settings={"seconds": seconds, "timeout": common.timeout},
        tables=[
            TableOf(
                COLUMNS,
                lambda cell: f"{cell.name} on {runs.processors()} processors",
                lambda row: not row.left_out,
            )
        ],
        give_up_on=frozenset(),
        first=runs.pinned,
        known=known,
        what="setting",
        help="lockwright bench profile-cost --help",
    )
