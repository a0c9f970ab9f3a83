"""The cost of interposition, and the order of locks that are compiled into a program against that
of preloaded ones (Guerraoui et al., TOCS 2019, section 4.4)."""

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockwright.base import numbers
from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    Column,
    Report,
    empty_table,
    processors,
    progress,
    watching_others,
)
from lockwright.compare import stats
from lockwright.run.bench_program import Subject, number, run
from lockwright.stats import inference
from lockwright.stats.equivalence import INSIDE, OPEN, OUTSIDE, Equivalence, equivalence
from lockwright.stats.spread import spread
from rich.table import Table

from lockwright_lab.bench.catalogue import RATE

DIRECT, INTERPOSED = "direct", "interposed"


@dataclass(frozen=True)
class Setting:
    """A workload with its options. threads: None for one thread, else threads per processor.

    busy: True if threads contend and have other work, as in the programs of the papers. If one
    thread only locks and unlocks, some nanoseconds are a large share, and the setting shows the
    cost rather than its effect on a program. usual: True if it is run by default.
    """

    name: str
    workload: str
    threads: int | None
    options: Mapping[str, object]
    meaning: str
    busy: bool = True
    usual: bool = True

    def arguments(self) -> dict[str, object]:
        """Return the options of the measuring program."""
        count = 1 if self.threads is None else self.threads * processors()
        return {"threads": count, **self.options}


def _lockbench(
    name: str, preset: str, threads: int, meaning: str, *, usual: bool = True
) -> Setting:
    return Setting(name, "lockbench", threads, {"preset": preset}, meaning, usual=usual)


SETTINGS = {
    setting.name: setting
    for setting in (
        _lockbench(
            "short-long",
            "short-long",
            1,
            "a thread for each processor, sections up to 3.7 µs, gaps up to 366 µs (Marotta et "
            "al., Mutable Locks, 2019, figure 3 (e))",
        ),
        _lockbench(
            "short-short",
            "short-short",
            1,
            "a thread for each processor, sections and gaps up to 3.7 µs (ibidem, figure 3 (a))",
        ),
        Setting(
            "uncontested",
            "uncontested",
            None,
            {"section-cycles": 100},
            "one thread, sections of 100 cycles (Falsafi et al., Unlocking Energy, ATC 2016, "
            "table 2)",
            busy=False,
        ),
        Setting(
            "empty",
            "uncontested",
            None,
            {"section-cycles": 0},
            "one thread that only locks and unlocks",
            busy=False,
        ),
        _lockbench(
            "over-subscribed",
            "short-long",
            4,
            "four threads for each processor, sections up to 3.7 µs, gaps up to 366 µs (ibidem, "
            "figure 3 (e), more threads than processors); only on request",
            usual=False,
        ),
    )
}
"""The settings, in the order in which they are run."""

COLUMNS = [
    Column("lock", "its name; pthread is the C library's mutex, and direct a plain pthread call."),
    Column(
        "direct op/s",
        "acquisitions per second if the lock's header is compiled into the workload and nothing is "
        "preloaded; median over the rounds.",
    ),
    Column(
        "interposed op/s",
        "the same if the workload calls pthread functions and the lock's library is preloaded.",
    ),
    Column(
        "difference",
        "interposed divided by direct, less 1, of the two runs of a round, which follow one "
        "another; Hodges and Lehmann's estimate (1963) over the rounds. Below 0: interposed is "
        "slower.",
    ),
    Column(
        "90 % CI",
        "confidence interval of the difference, by signed ranks of the rounds' differences "
        "(Wilcoxon, exact).",
    ),
    Column(
        "p",
        "probability of such rounds if the difference were 5 % or more in either direction: the "
        "larger p of two one-sided tests (Schuirmann, 1987) by signed ranks.",
    ),
    Column(
        "within 5 %",
        "yes: shown to be within, p is at most 0.05. no: shown to be beyond. open: neither; more "
        "--runs may decide.",
    ),
    Column(
        "ns more",
        "nanoseconds that an acquisition and its release take more when interposed, with one "
        "thread; medians over the rounds.",
    ),
]

SUMMARY = [
    Column("setting", "its name in --settings."),
    Column("locks", "number of locks with figures in both forms."),
    Column(
        "mean difference",
        "mean of the locks' differences, on logarithms; in brackets its 95 % interval by Student's "
        "t over the locks.",
    ),
    Column("within 5 %", "locks that are shown to differ by less than 5 %."),
    Column("beyond", "locks that are shown to differ by more than 5 %."),
    Column("open", "locks for which neither is shown."),
    Column(
        "pairs ordered",
        "pairs with a lock that is shown to be faster in both forms: one-sided Welch tests on the "
        "logarithms of the runs, Holm's correction for all pairs (the rule of 'lockwright study').",
    ),
    Column(
        "turned round", "of these, pairs whose faster lock is the slower one in the other form."
    ),
    Column(
        "kept better",
        "of the pairs with a lock that is better by more than 5 % of the mean when direct, the "
        "share with the same relation when interposed (Guerraoui et al., Lock-Unlock: Is That "
        "All?, TOCS 2019, table 5, and its rule, which does not consider noise).",
    ),
    Column("kept equal", "the same for pairs within 5 % of one another."),
    Column("kept worse", "the same for pairs with a lock that is worse by more than 5 %."),
]


@dataclass
class LockResults:
    """The operations per second of one lock in one setting, by form and round."""

    rates: dict[str, dict[int, float]] = field(default_factory=lambda: {DIRECT: {}, INTERPOSED: {}})
    timed_out: int = 0

    def both(self) -> list[tuple[float, float]]:
        """Return the rates, direct and interposed, of the rounds that have both."""
        direct, interposed = self.rates[DIRECT], self.rates[INTERPOSED]
        return [(direct[n], interposed[n]) for n in sorted(direct.keys() & interposed.keys())]


Results = defaultdict[str, defaultdict[str, LockResults]]
"""Results by setting and lock."""


def new_results() -> Results:
    """Return the empty results that `measure` fills."""
    return defaultdict(lambda: defaultdict(LockResults))


def measure(
    report: Report,
    chosen: Sequence[Subject],
    settings: Sequence[Setting],
    rounds: int,
    options: Mapping[str, object],
    timeout: float,
    results: Results,
) -> None:
    """Make all runs, and fill `results`, which has the runs so far if a signal ends it.

    In a round, every lock is run once in both forms in each setting, the locks in a shuffled order.
    The order of the forms alternates from round to round. timeout: seconds of one run.
    """
    steps_in_all = rounds * len(settings) * len(chosen)
    with watching_others(report), progress("interposition", steps_in_all) as steps:
        for round_number in range(rounds):
            for setting in settings:
                order = list(chosen)
                random.Random(f"{setting.name} {round_number}").shuffle(order)
                for subject in order:
                    steps.step(f"{subject.name}, {setting.name}")
                    lock_results = results[setting.name][subject.name]
                    if lock_results.timed_out < stats.GIVE_UP:
                        _run_round(
                            report, subject, setting, round_number, options, timeout, lock_results
                        )


def tables(
    report: Report, chosen: Sequence[Subject], settings: Sequence[Setting], results: Results
) -> list[Table]:
    """Return a table for each setting and a summary; add their figures to `report`."""
    names = [subject.name for subject in chosen]
    by_setting = [_setting_table(report, each, names, results[each.name]) for each in settings]
    return [*by_setting, _summary_table(report, settings, results)]


def _run_round(
    report: Report,
    subject: Subject,
    setting: Setting,
    round_number: int,
    options: Mapping[str, object],
    timeout: float,
    results: LockResults,
) -> None:
    forms = [(DIRECT, replace(subject, plain=None, direct=True)), (INTERPOSED, subject)]
    if round_number % 2:
        forms.reverse()
    arguments = {**setting.arguments(), **options}
    for form, variant in forms:
        outcome = run(variant, setting.workload, arguments, timeout=timeout)
        report.record(variant, round_number, outcome, setting=setting.name, form=form)
        results.timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is not None and not outcome.failure and (rate := number(line, RATE.field)) > 0:
            results.rates[form][round_number] = rate


def _setting_table(
    report: Report, setting: Setting, names: Sequence[str], results: Mapping[str, LockResults]
) -> Table:
    table = empty_table(f"{setting.name}: {setting.meaning}", COLUMNS)
    for name in names:
        pairs = results[name].both()
        test = _test(pairs)
        direct, interposed = (spread([pair[form] for pair in pairs]) for form in (0, 1))
        ns_more = None
        if direct is not None and interposed is not None and setting.threads is None:
            ns_more = 1e9 / interposed.median - 1e9 / direct.median
        report.rows.append(
            {
                "setting": setting.name,
                "lock": name,
                "direct": direct,
                "interposed": interposed,
                "difference": None if test is None else math.expm1(test.centre),
                "interval": _interval(test),
                "p": None if test is None else test.p_value,
                "within": None if test is None else test.verdict,
                "ns_more": ns_more,
                "rounds": len(pairs),
                "timed_out": results[name].timed_out,
            }
        )
        if test is None or direct is None or interposed is None:
            table.add_row(name, "timed out" if results[name].timed_out else "-", *["-"] * 6)
            continue
        table.add_row(
            name,
            plain(direct.median),
            plain(interposed.median),
            f"{math.expm1(test.centre):+.1%}",
            _interval_text(_interval(test)),
            f"{test.p_value:.3f}",
            test.verdict,
            "-" if ns_more is None else f"{ns_more:+.2f}",
        )
    return table


def _test(pairs: Sequence[tuple[float, float]]) -> Equivalence | None:
    return equivalence([math.log(interposed / direct) for direct, interposed in pairs])


def _interval(test: Equivalence | None) -> list[float] | None:
    if test is None or test.low is None or test.high is None:
        return None
    return [math.expm1(test.low), math.expm1(test.high)]


def _interval_text(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:+.1%} to {interval[1]:+.1%}"


def summarise(results: Mapping[str, LockResults]) -> dict[str, object]:
    """Return the summary of the locks of a setting; see SUMMARY."""
    pairs = {name: both for name, each in results.items() if (both := each.both())}
    tests = [test for both in pairs.values() if (test := _test(both)) is not None]
    centres = [test.centre for test in tests]
    verdicts = [test.verdict for test in tests]
    summary: dict[str, object] = {
        "locks": len(centres),
        "mean_difference": math.expm1(statistics.fmean(centres)) if centres else None,
        "interval": None,
        "within": verdicts.count(INSIDE),
        "beyond": verdicts.count(OUTSIDE),
        "open": verdicts.count(OPEN),
    }
    if len(centres) > 1:
        mean = statistics.fmean(centres)
        half = inference.t_quantile(len(centres) - 1) * statistics.stdev(centres)
        half /= math.sqrt(len(centres))
        summary["interval"] = [math.expm1(mean - half), math.expm1(mean + half)]
    return summary | _orders(pairs)


def _orders(pairs: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, object]:
    """Return the figures of SUMMARY on pairs of locks."""
    names = ("ordered", "turned_round", "kept_better", "kept_equal", "kept_worse")
    if len(pairs) < 2:
        return dict.fromkeys(names)
    import numpy as np
    import pandas as pd

    from lockwright_lab.study import cells, schema, validation
    from lockwright_lab.study.dataset import COUNT, Sample
    from lockwright_lab.study.rules import Margin, Shown

    variants = ((schema.MANUAL, 0), (schema.INTERPOSED, 1))
    runs = pd.DataFrame(
        [
            ("all", lock, variant, pair[index])
            for lock, both in pairs.items()
            for pair in both
            for variant, index in variants
        ],
        columns=["application", "lock", "variant", RATE.field],
    )
    rows = []
    for variant, _ in variants:
        of_variant = runs[runs.variant == variant].rename(columns={RATE.field: "value"})
        sample = Sample("", RATE.field, "", of_variant.assign(**{COUNT: 0}))
        rows.append(cells.condense(sample).at("one").row("all"))
    direct, interposed = (Shown().better(row) for row in rows)
    by_margin = validation.validation(runs, RATE.field, higher=True, rule=Margin()).loc["all"]
    shares = {name: float(by_margin[name]) for name in names[2:]}
    return {
        "ordered": int(np.count_nonzero((direct | direct.T) & (interposed | interposed.T)) // 2),
        "turned_round": int(np.count_nonzero(direct & interposed.T)),
        **{name: None if math.isnan(share) else share for name, share in shares.items()},
    }


def _summary_table(report: Report, settings: Sequence[Setting], results: Results) -> Table:
    table = empty_table("All locks together", SUMMARY)
    for setting in settings:
        summary = summarise(results[setting.name])
        report.summary.append({"setting": setting.name, **summary})
        mean, interval = summary["mean_difference"], summary["interval"]
        limits = _interval_text(interval if isinstance(interval, list) else None)
        counts = (summary[name] for name in ("within", "beyond", "open", "ordered", "turned_round"))
        shares = (summary[name] for name in ("kept_better", "kept_equal", "kept_worse"))
        table.add_row(
            setting.name,
            str(summary["locks"]),
            "-" if mean is None else f"{mean:+.2%} ({limits})",
            *("-" if count is None else str(count) for count in counts),
            *("-" if share is None else numbers.percent(float(str(share))) for share in shares),
        )
    return table


def remarks(settings: Sequence[Setting]) -> list[str]:
    """Return the remarks on the tables."""
    names = [each.name for each in settings if not each.busy]
    if not names:
        return []
    return [
        f"In {' and '.join(names)} a thread does little but lock and unlock: 'ns more' is the cost "
        "of interposition, which is a smaller share of the time of a program with other work."
    ]
