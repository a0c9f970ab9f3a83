"""The cost of interposition, and the order of locks that are compiled into a program against that
of preloaded ones (Guerraoui et al., TOCS 2019, section 4.4)."""

import math
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lockwright.base import numbers
from lockwright.experiment import Outcome, Run, Summary
from lockwright.experiment.report import Report, text_grid
from lockwright.stats import inference
from lockwright.stats.equivalence import INSIDE, OPEN, OUTSIDE, Equivalence, equivalence

from lockwright_lab.bench import runs, settings
from lockwright_lab.bench.catalogue import RATE
from lockwright_lab.bench.measurement import Given, Measurement

DIRECT, INTERPOSED = "direct", "interposed"

Pairs = Sequence[tuple[float, float]]
"""The rates, direct and interposed, of each round that has both."""


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


def _tested(show: Callable[[Equivalence], str]) -> Callable[[Summary], str]:
    def text(row: Summary) -> str:
        test = _test(pairs_of(row))
        return "-" if test is None else show(test)

    return text


def summarise(pairs: Mapping[str, Pairs]) -> dict[str, object]:
    """Return the summary of the locks of a setting, whose terms the help defines. pairs: by the
    name of a lock."""
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
    """Return the figures on pairs of locks."""
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


_NAMES = ("within", "beyond", "open", "ordered", "turned_round")
_SHARES = ("kept_better", "kept_equal", "kept_worse")


def _line(setting: str, summary: Mapping[str, Any]) -> list[str]:
    """Return the row of a setting in the table of all locks together."""
    mean, limits = summary["mean_difference"], _interval_text(summary["interval"])
    counts, shares = ([summary[name] for name in names] for names in (_NAMES, _SHARES))
    return [
        setting,
        str(summary["locks"]),
        "-" if mean is None else f"{mean:+.2%} ({limits})",
        *("-" if count is None else str(count) for count in counts),
        *("-" if share is None else numbers.percent(share) for share in shares),
    ]


def _lines(made: Sequence[Run]) -> Iterator[dict[str, object]]:
    """Yield a line for each run of a pair, in the format of a study: the form is the variant."""
    from lockwright_lab.study import schema

    rate_of = runs.field("measured: operations_per_second")
    for run in made:
        for form, variant in ((DIRECT, schema.MANUAL), (INTERPOSED, schema.INTERPOSED)):
            details = run.details[form]
            rate = rate_of(Outcome(details=details))
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
    title, terms = next(iter(INTERPOSITION.file.terms.items()))
    lines = [_line(rows[0].cell, each) for rows, each in zip(usual.cells, summaries, strict=True)]
    return replace(
        usual,
        grids=[*usual.grids, text_grid(title[:-1], list(terms), lines)],
        more={"summary": named},
        csv_lines=list(_lines(usual.runs.all)),
    )


def _remarks(cells: Sequence[Sequence[Summary]], _: Given) -> list[str]:
    names = [rows[0].cell for rows in cells if settings.is_of_one_thread(rows[0].of_cell)]
    if not names:
        return []
    return [
        f"In {' and '.join(names)} a thread does little but lock and unlock: 'ns more' is the cost "
        "of interposition, which is a smaller share of the time of a program with other work."
    ]


def _run(call: runs.Call) -> Outcome:
    call = settings.of_setting(call)
    subject = replace(call.contender.subject, plain=None, direct=True)
    direct = call.under(replace(call.contender, subject=subject))
    return runs.in_pair(call.round, {DIRECT: direct.run, INTERPOSED: call.run})


INTERPOSITION = Measurement(
    "interposition",
    {
        "difference": _tested(lambda test: f"{math.expm1(test.centre):+.1%}"),
        "interval": _tested(lambda test: _interval_text(_interval(test))),
        "p": _tested(lambda test: f"{test.p_value:.3f}"),
        "within": _tested(lambda test: test.verdict),
        "ns_more": settings.ns_more(DIRECT, INTERPOSED),
    },
    check=partial(settings.only_locks, why="cannot be measured in two forms"),
    run=_run,
    first=runs.pinned,
    remarks=_remarks,
    title=settings.title,
    further={"report": _with_summary},
    explained=partial(settings.terms, "forms"),
)
