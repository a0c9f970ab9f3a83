"""The cost of an algorithm per mutex: the library of all algorithms, with one for every mutex,
against the library of that algorithm."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    Column,
    Report,
    empty_table,
    progress,
    rotated,
    watching_others,
)
from lockwright.compare import stats
from lockwright.plan.compiled import VARIABLE
from lockwright.preload.locks import Registry
from lockwright.run.bench_program import Subject, number, run
from lockwright.stats.spread import format_ratio, spread
from rich.table import Table

from lockwright_lab.bench.catalogue import RATE
from lockwright_lab.bench.interposition import SETTINGS, Setting

USUAL = tuple(SETTINGS[name] for name in ("empty", "uncontested", "short-short"))
"""The default settings: two without and one with contention."""

COLUMNS = [
    Column("lock", "the algorithm that every mutex has."),
    Column(
        "own op/s",
        "acquisitions per second with the library of this algorithm; median over the rounds.",
    ),
    Column("mixed op/s", "the same with the library of all algorithms."),
    Column(
        "ratio",
        "mixed divided by own, of the two runs of a round, which follow one another; median over "
        "the rounds. Below 1: the mixed library is slower.",
    ),
    Column(
        "ns more",
        "nanoseconds that an acquisition and its release take more with one thread; from the "
        "medians.",
    ),
]


@dataclass
class _LockResults:
    own: list[float] = field(default_factory=list)
    mixed: list[float] = field(default_factory=list)
    timed_out: int = 0


def measure(
    report: Report,
    known: Registry,
    chosen: Sequence[Subject],
    settings: Sequence[Setting],
    rounds: int,
    options: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Make all runs, fill `report`, and return a table for each setting. timeout: seconds."""
    library = known.path_of_mixed()
    results: defaultdict[str, defaultdict[str, _LockResults]] = defaultdict(
        lambda: defaultdict(_LockResults)
    )
    steps_in_all = rounds * len(settings) * len(chosen)
    with watching_others(report), progress("mixed", steps_in_all) as steps:
        for round_number in range(rounds):
            for setting in settings:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {setting.name}")
                    lock_results = results[setting.name][subject.name]
                    if lock_results.timed_out < stats.GIVE_UP:
                        pair = (subject, Subject(subject.name, library, lock=subject.lock))
                        _run_round(
                            report, pair, setting, round_number, options, timeout, lock_results
                        )
    return [_table(report, each, chosen, results[each.name]) for each in settings]


def _run_round(
    report: Report,
    pair: tuple[Subject, Subject],
    setting: Setting,
    round_number: int,
    options: Mapping[str, object],
    timeout: float,
    results: _LockResults,
) -> None:
    rates: list[float | None] = [None, None]
    arguments = {**setting.arguments(), **options}
    for index in (0, 1) if round_number % 2 == 0 else (1, 0):
        subject = pair[index]
        plan = {VARIABLE: f"D {subject.name}\n"}
        outcome = run(subject, setting.workload, arguments, timeout=timeout, environment=plan)
        form = ("own", "mixed")[index]
        report.record(subject, round_number, outcome, setting=setting.name, form=form)
        results.timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is not None and not outcome.failure:
            rates[index] = number(line, RATE.field)
    own, mixed = rates
    if own and mixed:
        results.own.append(own)
        results.mixed.append(mixed)


def _table(
    report: Report, setting: Setting, chosen: Sequence[Subject], results: Mapping[str, _LockResults]
) -> Table:
    table = empty_table(f"{setting.name}: {setting.meaning}", COLUMNS)
    for subject in chosen:
        lock_results = results[subject.name]
        own, mixed = spread(lock_results.own), spread(lock_results.mixed)
        pairs = zip(lock_results.own, lock_results.mixed, strict=True)
        ratio = spread([mixed_rate / own_rate for own_rate, mixed_rate in pairs])
        ns_more = None
        if own is not None and mixed is not None and setting.threads is None:
            ns_more = 1e9 / mixed.median - 1e9 / own.median
        report.rows.append(
            {
                "setting": setting.name,
                "lock": subject.name,
                "own": own,
                "mixed": mixed,
                "ratio": ratio,
                "ns_more": ns_more,
                "timed_out": lock_results.timed_out,
            }
        )
        if own is None or mixed is None:
            table.add_row(subject.name, "timed out" if lock_results.timed_out else "-", *["-"] * 3)
            continue
        table.add_row(
            subject.name,
            plain(own.median),
            plain(mixed.median),
            format_ratio(ratio),
            "-" if ns_more is None else f"{ns_more:+.2f}",
        )
    return table


def remarks(report: Report, settings: Sequence[Setting]) -> list[str]:
    """Return a summary of the locks of each setting."""
    texts = []
    for setting in settings:
        rows = [row["ratio"] for row in report.rows if row["setting"] == setting.name]
        medians = [ratio.median for ratio in rows if hasattr(ratio, "median")]
        if (over_locks := spread(medians)) is not None:
            texts.append(
                f"{setting.name}: median ratio over {over_locks.count} locks "
                f"{over_locks.median:.3f}, from {min(medians):.3f} to {max(medians):.3f}."
            )
    return texts
