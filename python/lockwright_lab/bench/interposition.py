"""The cost of interposition, and the order of locks that are compiled into a program against that
of preloaded ones (Guerraoui et al., TOCS 2019, section 4.4)."""

import math
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lockwright.base import numbers
from lockwright.experiment import (
    Column,
    Experiment,
    Figure,
    Outcome,
    Run,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.experiment.report import Grid, Report
from lockwright.page.rows import Row
from lockwright.stats import inference
from lockwright.stats.equivalence import INSIDE, OPEN, OUTSIDE, Equivalence, equivalence

from lockwright_lab.bench import runs, settings
from lockwright_lab.bench.catalogue import RATE
from lockwright_lab.bench.settings import SETTINGS, Setting

DIRECT, INTERPOSED = "direct", "interposed"

Pairs = Sequence[tuple[float, float]]
"""The rates, direct and interposed, of each round that has both."""

_rate = runs.field("measured", RATE.field)

FIGURES = [
    Figure(
        DIRECT,
        "1/s",
        definition="acquisitions per second if the lock's header is compiled into the workload and "
        "nothing is preloaded; median over the rounds.",
        heading="direct op/s",
        value=runs.of(DIRECT, _rate),
    ),
    Figure(
        INTERPOSED,
        "1/s",
        definition="the same if the workload calls pthread functions and the lock's library is "
        "preloaded.",
        heading="interposed op/s",
        value=runs.of(INTERPOSED, _rate),
    ),
]


def pairs_of(row: Summary) -> Pairs:
    """Return the rates of a lock in a setting."""
    direct, interposed = row.by_round(DIRECT), row.by_round(INTERPOSED)
    both = sorted(direct.keys() & interposed.keys())
    return [(direct[n], interposed[n]) for n in both if min(direct[n], interposed[n]) > 0]


def _test(pairs: Pairs) -> Equivalence | None:
    return equivalence([math.log(interposed / direct) for direct, interposed in pairs])


def _interval(test: Equivalence | None) -> list[float] | None:
    if test is None or test.low is None or test.high is None:
        return None
    return [math.expm1(test.low), math.expm1(test.high)]


def _interval_text(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:+.1%} to {interval[1]:+.1%}"


def _tested(heading: str, definition: str, show: Callable[[Equivalence], str]) -> Column:
    def text(row: Summary) -> str:
        test = _test(pairs_of(row))
        return "-" if test is None else show(test)

    return Column(heading, definition, text)


COLUMNS = [
    make.name(
        definition="its name; pthread is the C library's mutex, and direct a plain pthread call."
    ),
    *map(make.median, FIGURES),
    _tested(
        "difference",
        "interposed divided by direct, less 1, of the two runs of a round, which follow one "
        "another; Hodges and Lehmann's estimate (1963) over the rounds. Below 0: interposed is "
        "slower.",
        lambda test: f"{math.expm1(test.centre):+.1%}",
    ),
    _tested(
        "90 % CI",
        "confidence interval of the difference, by signed ranks of the rounds' differences "
        "(Wilcoxon, exact).",
        lambda test: _interval_text(_interval(test)),
    ),
    _tested(
        "p",
        "probability of such rounds if the difference were 5 % or more in either direction: the "
        "larger p of two one-sided tests (Schuirmann, 1987) by signed ranks.",
        lambda test: f"{test.p_value:.3f}",
    ),
    _tested(
        "within 5 %",
        "yes: shown to be within, p is at most 0.05. no: shown to be beyond. open: neither; more "
        "--runs may decide.",
        lambda test: test.verdict,
    ),
    settings.ns_more(
        DIRECT,
        INTERPOSED,
        "nanoseconds that an acquisition and its release take more when interposed, with one "
        "thread; medians over the rounds.",
    ),
]

SUMMARY = [
    make.term("setting", "its name in --settings."),
    make.term("locks", "number of locks with figures in both forms."),
    make.term(
        "mean difference",
        "mean of the locks' differences, on logarithms; in brackets its 95 % interval by Student's "
        "t over the locks.",
    ),
    make.term("within 5 %", "locks that are shown to differ by less than 5 %."),
    make.term("beyond", "locks that are shown to differ by more than 5 %."),
    make.term("open", "locks for which neither is shown."),
    make.term(
        "pairs ordered",
        "pairs with a lock that is shown to be faster in both forms: one-sided Welch tests on the "
        "logarithms of the runs, Holm's correction for all pairs (the rule of 'lockwright study').",
    ),
    make.term(
        "turned round", "of these, pairs whose faster lock is the slower one in the other form."
    ),
    make.term(
        "kept better",
        "of the pairs with a lock that is better by more than 5 % of the mean when direct, the "
        "share with the same relation when interposed (Guerraoui et al., Lock-Unlock: Is That "
        "All?, TOCS 2019, table 5, and its rule, which does not consider noise).",
    ),
    make.term("kept equal", "the same for pairs within 5 % of one another."),
    make.term("kept worse", "the same for pairs with a lock that is worse by more than 5 %."),
]


def summarise(pairs: Mapping[str, Pairs]) -> dict[str, object]:
    """Return the summary of the locks of a setting; see SUMMARY. pairs: by the name of a lock."""
    pairs = {name: both for name, both in pairs.items() if both}
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


def _orders(pairs: Mapping[str, Pairs]) -> dict[str, object]:
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


def _summary(cells: Sequence[Sequence[Summary]], summaries: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the table with a row for each setting."""
    lines = []
    for rows, summary in zip(cells, summaries, strict=True):
        mean, limits = summary["mean_difference"], _interval_text(summary["interval"])
        counts = (summary[name] for name in ("within", "beyond", "open", "ordered", "turned_round"))
        shares = (summary[name] for name in ("kept_better", "kept_equal", "kept_worse"))
        texts = [
            rows[0].cell,
            str(summary["locks"]),
            "-" if mean is None else f"{mean:+.2%} ({limits})",
            *("-" if count is None else str(count) for count in counts),
            *("-" if share is None else numbers.percent(share) for share in shares),
        ]
        lines.append(Row([(text, text) for text in texts], ""))
    return Grid("All locks together", [each.heading for each in SUMMARY], lines)


def _lines(made: Sequence[Run]) -> Iterator[dict[str, object]]:
    """Yield a line for each run of a pair, in the format of a study: the form is the variant."""
    from lockwright_lab.study import schema

    for run in made:
        for form, variant in ((DIRECT, schema.MANUAL), (INTERPOSED, schema.INTERPOSED)):
            details = run.details[form]
            rate = _rate(Outcome(details=details))
            yield {
                "machine": platform.node() or "machine",
                "application": run.cell,
                "lock": run.contender,
                "variant": variant,
                "round": run.round,
                "outcome": details["note"] or (details["outcome"] if rate else "nothing done"),
                "throughput": rate,
            }


def _with_summary(usual: Report) -> Report:
    summaries = [summarise({row.contender: pairs_of(row) for row in rows}) for rows in usual.cells]
    named = [
        {"setting": rows[0].cell, **each} for rows, each in zip(usual.cells, summaries, strict=True)
    ]
    return replace(
        usual,
        grids=[*usual.grids, _summary(usual.cells, summaries)],
        more={"summary": named},
        csv_lines=list(_lines(usual.runs.all)),
    )


def _remarks(cells: Sequence[Sequence[Summary]]) -> list[str]:
    names = [rows[0].cell for rows in cells if not SETTINGS[rows[0].cell].busy]
    if not names:
        return []
    return [
        f"In {' and '.join(names)} a thread does little but lock and unlock: 'ns more' is the cost "
        "of interposition, which is a smaller share of the time of a program with other work."
    ]


def _run(call: runs.Call) -> Outcome:
    call = settings.of_setting(call)
    subject = replace(call.contender.subject, plain=None, direct=True)
    return runs.in_pair(
        call.round,
        {
            DIRECT: call.under(replace(call.contender, subject=subject)).run,
            INTERPOSED: call.run,
        },
    )


def interposition(
    common: runs.Common, options: Mapping[str, float], chosen: Sequence[Setting]
) -> Experiment:
    """Return the experiment. options: of the measuring program."""
    return runs.experiment(
        "interposition",
        common,
        FIGURES,
        [TableOf(COLUMNS, settings.title)],
        options,
        settings.cells(chosen),
        make=_run,
        first=runs.pinned,
        remarks=_remarks,
        report=_with_summary,
    )
