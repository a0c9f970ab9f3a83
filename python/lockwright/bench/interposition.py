"""The cost of interposition, and whether locks compare alike when they are written into the program
(Guerraoui et al., TOCS 2019, section 4.4)."""

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rich.table import Table as RichTable

from lockwright.base import numbers
from lockwright.base.numbers import plain
from lockwright.bench.catalogue import RATE
from lockwright.bench.report import Column, Report, processors, progress, table, watching_others
from lockwright.compare import stats
from lockwright.run.bench_program import Subject, number, run
from lockwright.stats import inference
from lockwright.stats.equivalence import INSIDE, OPEN, OUTSIDE, Equivalence, equivalence
from lockwright.stats.spread import spread

DIRECT, INTERPOSED = "direct", "interposed"


@dataclass(frozen=True)
class Setting:
    """A workload with its options. threads: None for one thread, else threads per processor.

    busy: whether threads have other work and contend, as in the programs of the papers. Where one
    thread does little but lock and unlock, some nanoseconds are a large share, and the setting
    shows the cost rather than its effect on a program. usual: whether it is run by default.
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
    each.name: each
    for each in (
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
            "one thread that locks and unlocks and does nothing else",
            busy=False,
        ),
        _lockbench(
            "over-subscribed",
            "short-long",
            4,
            "four threads for each processor, sections up to 3.7 µs, gaps up to 366 µs (ibidem, "
            "figure 3 (e), threads beyond the processors); only where it is named",
            usual=False,
        ),
    )
}
"""The settings, in the order in which they are run."""

COLUMNS = [
    Column("lock", "its pthread is the C library's mutex; direct, that is the plain pthread call."),
    Column(
        "direct op/s",
        "acquisitions per second where the lock's header is compiled into the workload and nothing "
        "is preloaded; median over the rounds.",
    ),
    Column(
        "interposed op/s",
        "the same where the workload calls pthread functions and the lock's library is preloaded.",
    ),
    Column(
        "difference",
        "interposed divided by direct, less 1, of the two runs of a round, which follow one "
        "another; Hodges and Lehmann's estimate (1963) over the rounds. Below 0: interposed is "
        "slower.",
    ),
    Column(
        "90 % CI",
        "the range of the difference that goes with the test: signed ranks of the rounds' "
        "differences (Wilcoxon, exact).",
    ),
    Column(
        "p",
        "chance of such rounds if the difference were 5 % or more, either way: the larger p of two "
        "one-sided tests (Schuirmann, 1987) by signed ranks.",
    ),
    Column(
        "within 5 %",
        "yes: shown to be within, p is 0.05 at most. no: shown to be beyond. open: neither, more "
        "--runs can tell.",
    ),
    Column(
        "ns more",
        "nanoseconds that an acquisition and its release take more when interposed, with one "
        "thread; medians over the rounds.",
    ),
]

SUMMARY = [
    Column("setting", "as --settings names it."),
    Column("locks", "with figures in both forms."),
    Column(
        "mean difference",
        "mean over the locks of their differences, on logarithms; in brackets its 95 % interval by "
        "Student's t over the locks.",
    ),
    Column("within 5 %", "locks for which that is shown, of how many."),
    Column("beyond", "locks that are shown to differ by more than 5 %."),
    Column("open", "locks of which neither is shown."),
    Column(
        "pairs ordered",
        "pairs of locks of which one is shown to be faster, in both forms: one-sided Welch tests "
        "on the logarithms of the runs, Holm's correction for all pairs (the rule of 'lockwright "
        "study').",
    ),
    Column("turned round", "of these, pairs of which another one is faster in the other form."),
    Column(
        "kept better",
        "share of the pairs with a lock that is better by more than 5 % of the mean when direct, "
        "where it is so interposed, too (Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019, "
        "table 5, and its rule). This rule asks nothing about noise.",
    ),
    Column("kept equal", "the same of pairs within 5 % of one another."),
    Column("kept worse", "the same of pairs where it is worse by more than 5 %."),
]


@dataclass
class LockResults:
    """The operations per second of one lock in one setting, by form and round."""

    rates: dict[str, dict[int, float]] = field(default_factory=lambda: {DIRECT: {}, INTERPOSED: {}})
    timed_out: int = 0

    def both(self) -> list[tuple[float, float]]:
        """Return the rates, direct and interposed, of the rounds that have both."""
        direct, other = self.rates[DIRECT], self.rates[INTERPOSED]
        return [
            (direct[round_number], other[round_number])
            for round_number in sorted(direct.keys() & other.keys())
        ]


Table = defaultdict[str, defaultdict[str, LockResults]]
"""Results by setting and lock."""


def empty_table() -> Table:
    """Return an empty table for measure()."""
    return defaultdict(lambda: defaultdict(LockResults))


def measure(
    report: Report,
    chosen: Sequence[Subject],
    settings: Sequence[Setting],
    rounds: int,
    given: Mapping[str, object],
    timeout: float,
    results: Table,
) -> None:
    """Make all runs, and fill `results`, which has the runs so far if a signal ends it.

    In a round, every lock is run once in both forms in each setting, the locks in an order shuffled
    for it. The order of the forms alternates from round to round. timeout: seconds of one run.
    """
    steps_in_all = rounds * len(settings) * len(chosen)
    with watching_others(report), progress("interposition", steps_in_all) as steps:
        for round_number in range(rounds):
            for setting in settings:
                order = list(chosen)
                random.Random(f"{setting.name} {round_number}").shuffle(order)
                for subject in order:
                    steps.step(f"{subject.name}, {setting.name}")
                    one = results[setting.name][subject.name]
                    if one.timed_out < stats.GIVE_UP:
                        _run_round(report, subject, setting, round_number, given, timeout, one)


def tables(
    report: Report, chosen: Sequence[Subject], settings: Sequence[Setting], results: Table
) -> list[RichTable]:
    """Return a table for each setting and a summary; add their figures to `report`."""
    names = [subject.name for subject in chosen]
    each = [_setting_table(report, one, names, results[one.name]) for one in settings]
    return [*each, _summary_table(report, settings, results)]


def _run_round(
    report: Report,
    subject: Subject,
    setting: Setting,
    round_number: int,
    given: Mapping[str, object],
    timeout: float,
    results: LockResults,
) -> None:
    forms = [(DIRECT, replace(subject, plain=None, direct=True)), (INTERPOSED, subject)]
    if round_number % 2:
        forms.reverse()
    for form, one in forms:
        outcome = run(one, setting.workload, {**setting.arguments(), **given}, timeout=timeout)
        report.record(one, round_number, outcome, setting=setting.name, form=form)
        results.timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is not None and not outcome.failure and (rate := number(line, RATE.field)) > 0:
            results.rates[form][round_number] = rate


def _setting_table(
    report: Report, setting: Setting, names: Sequence[str], results: Mapping[str, LockResults]
) -> RichTable:
    shown = table(f"{setting.name}: {setting.meaning}", COLUMNS)
    for name in names:
        pairs = results[name].both()
        found = equivalence([math.log(other / direct) for direct, other in pairs])
        direct, other = (spread([pair[form] for pair in pairs]) for form in (0, 1))
        more = None
        if direct is not None and other is not None and setting.threads is None:
            more = 1e9 / other.median - 1e9 / direct.median
        report.rows.append(
            {
                "setting": setting.name,
                "lock": name,
                "direct": direct,
                "interposed": other,
                "difference": None if found is None else math.expm1(found.centre),
                "interval": _interval(found),
                "p": None if found is None else found.p_value,
                "within": None if found is None else found.verdict,
                "ns_more": more,
                "rounds": len(pairs),
                "timed_out": results[name].timed_out,
            }
        )
        if found is None or direct is None or other is None:
            why = "timed out" if results[name].timed_out else "-"
            shown.add_row(name, why, *["-"] * 6)
            continue
        shown.add_row(
            name,
            plain(direct.median),
            plain(other.median),
            f"{math.expm1(found.centre):+.1%}",
            show_interval(_interval(found)),
            f"{found.p_value:.3f}",
            found.verdict,
            "-" if more is None else f"{more:+.2f}",
        )
    return shown


def _interval(found: Equivalence | None) -> list[float] | None:
    if found is None or found.low is None or found.high is None:
        return None
    return [math.expm1(found.low), math.expm1(found.high)]


def show_interval(interval: Sequence[float] | None) -> str:
    """Return a text such as `-1.2% to +0.3%`."""
    return "-" if interval is None else f"{interval[0]:+.1%} to {interval[1]:+.1%}"


def summarise(results: Mapping[str, LockResults]) -> dict[str, object]:
    """Return the summary of the locks of a setting; see SUMMARY."""
    pairs = {name: one.both() for name, one in results.items() if one.both()}
    found = {
        name: equivalence([math.log(other / direct) for direct, other in both])
        for name, both in pairs.items()
    }
    centres = [one.centre for one in found.values() if one is not None]
    verdicts = [one.verdict for one in found.values() if one is not None]
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
    """Return how pairs of locks compare in one form and in the other."""
    names = ("ordered", "turned_round", "kept_better", "kept_equal", "kept_worse")
    if len(pairs) < 2:
        return dict.fromkeys(names)
    import numpy as np
    import pandas as pd

    from lockwright.study import cells, schema, validation
    from lockwright.study.dataset import COUNT, Sample
    from lockwright.study.rules import Margin, Shown

    variants = ((schema.MANUAL, 0), (schema.INTERPOSED, 1))
    runs = pd.DataFrame(
        [
            ("all", lock, variant, pair[place])
            for lock, both in pairs.items()
            for pair in both
            for variant, place in variants
        ],
        columns=["application", "lock", "variant", RATE.field],
    )
    rows = []
    for variant, _ in variants:
        mine = runs[runs.variant == variant].rename(columns={RATE.field: "value"})
        sample = Sample("", RATE.field, "", mine.assign(**{COUNT: 0}))
        rows.append(cells.condense(sample).at("one").row("all"))
    direct, interposed = (Shown().better(row) for row in rows)
    papers = validation.validation(runs, RATE.field, higher=True, rule=Margin()).loc["all"]
    kept = {name: float(papers[name]) for name in names[2:]}
    return {
        "ordered": int(np.count_nonzero((direct | direct.T) & (interposed | interposed.T)) // 2),
        "turned_round": int(np.count_nonzero(direct & interposed.T)),
        **{name: None if math.isnan(share) else share for name, share in kept.items()},
    }


def _summary_table(report: Report, settings: Sequence[Setting], results: Table) -> RichTable:
    shown = table("All locks together", SUMMARY)
    for setting in settings:
        line = summarise(results[setting.name])
        report.summary.append({"setting": setting.name, **line})
        mean = line["mean_difference"]
        interval = line["interval"]
        cells = [
            str(line["locks"]),
            "-"
            if mean is None
            else f"{mean:+.2%} ({show_interval(interval if isinstance(interval, list) else None)})",
            *(str(line[name]) for name in ("within", "beyond", "open")),
            *(_or_dash(line[name]) for name in ("ordered", "turned_round")),
            *(
                "-" if share is None else numbers.percent(float(str(share)))
                for share in (line["kept_better"], line["kept_equal"], line["kept_worse"])
            ),
        ]
        shown.add_row(setting.name, *cells)
    return shown


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def remarks(settings: Sequence[Setting]) -> list[str]:
    """Return the remarks on the tables."""
    cost = [each.name for each in settings if not each.busy]
    if not cost:
        return []
    return [
        f"In {' and '.join(cost)} a thread does next to nothing but lock and unlock: 'ns more' is "
        "what interposition costs, a smaller share of what a program with work of its own does."
    ]
