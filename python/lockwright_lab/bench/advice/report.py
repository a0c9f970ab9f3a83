"""The table of the cells, and the shares of those in which a named lock harms."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lockwright.base import numbers
from lockwright.experiment import Cell, Runs
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Report, text_grid
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.advice.advised import advised_in, locks_of
from lockwright_lab.bench.advice.verdict import (
    BELOW,
    GAIN,
    HARMLESS,
    NEAR,
    OPEN,
    SEVERE,
    SHOWN,
    Shares,
    Verdict,
    against,
    shares,
    verdict,
)

COLUMNS = [
    term("program", "of tests/bottlenecks, of the half-hour study, or the cache server."),
    term("threads", "- for a program without such an option."),
    term("load", "quiet, or busy: a program on each processor that never sleeps."),
    term("first", f"the lock that 'advise' names first; {BASELINE} where it names none."),
    term("ratio", f"its rate over {BASELINE}'s of the same round, the geometric mean."),
    term("95 % CI", "of the ratio."),
    term("harms", f"whether the ratio is {BELOW} {HARMLESS:g}, {SHOWN}, or {OPEN}."),
    term("second", "the lock that is named second, and its ratio."),
    term("best", "the lock with the highest ratio in the first rounds, and this."),
    term("gains", "its ratio in the later rounds with its 95 % CI; - if it has none there."),
    term("former first", "the lock that the former rules name first, and its ratio."),
    term("others", "the share of the processors that other programs used, the busy ones included."),
]


def made(usual: Report, known: Mapping[str, Any], left_out: Sequence[str]) -> Report:
    """Return the report. known: as of `advised_in`; left_out: lines on programs."""
    cells = usual.experiment.cells
    rounds = usual.experiment.rounds
    found = {each.name: _verdict(usual.runs, each, known, rounds) for each in cells}
    verdicts = {name: each for name, each in found.items() if each is not None}
    problems = [
        f"{each.name}: {problem}"
        for each in cells
        if (problem := advised_in(known, each.name).problem)
    ]
    lines = [
        _line(each, verdicts[each.name], _others(usual.runs, each))
        for each in cells
        if each.name in verdicts
    ]
    named, former = (shares(list(verdicts.values()), former=each) for each in (False, True))
    return replace(
        usual,
        grids=[text_grid("The named locks", headings(COLUMNS), lines)],
        legend=[(each.heading, each.definition) for each in COLUMNS],
        remarks=[*left_out, *problems, *_sentences(named, former), *usual.remarks],
        # The other load is a part of the experiment.
        warnings=[],
        more={
            "cells": [
                _as_json(each, verdicts[each.name], _others(usual.runs, each))
                for each in cells
                if each.name in verdicts
            ],
            "advise": asdict(named),
            "former_rules": asdict(former),
        },
    )


def _verdict(runs: Runs, cell: Cell, known: Mapping[str, Any], rounds: int) -> Verdict | None:
    advised = advised_in(known, cell.name)
    return verdict(runs, cell.name, locks_of(advised), advised.named, advised.former, rounds)


def _others(runs: Runs, cell: Cell) -> float | None:
    """Return the median share over the runs of a cell."""
    known = [run.others for run in runs if run.cell == cell.name and run.others is not None]
    return statistics.median(known) if known else None


def _line(cell: Cell, of: Verdict, others: float | None) -> list[str]:
    threads = cell.options["threads"]
    ratio = of.of_first()
    return [
        cell.options["program"],
        "-" if threads is None else str(threads),
        cell.options["load"],
        of.first() if of.named else f"none ({BASELINE})",
        _text(ratio),
        _interval(of.first(), ratio),
        against(ratio, HARMLESS),
        _with_ratio(of, of.named[1]) if len(of.named) > 1 else "-",
        f"{of.best.lock} {numbers.ratio(of.best.first_ratio)}",
        _gain(of),
        _with_ratio(of, of.first(former=True)),
        "-" if others is None else numbers.percent(others),
    ]


def _text(ratio: Ratio | None) -> str:
    return "-" if ratio is None else numbers.ratio(ratio.value)


def _interval(lock: str, ratio: Ratio | None) -> str:
    if lock == BASELINE or ratio is None or ratio.low is None or ratio.high is None:
        return "-"
    return numbers.interval(ratio.low, ratio.high)


def _gain(of: Verdict) -> str:
    ratio = of.best.ratio
    return f"{_text(ratio)} {_interval(of.best.lock, ratio)}" if ratio is not None else "-"


def _with_ratio(of: Verdict, lock: str) -> str:
    return f"{lock} {_text(of.ratios.get(lock))}"


def _sentences(named: Shares, former: Shares) -> list[str]:
    """Return the three figures, of the advice and of the former rules."""
    lines = []
    for who, of in (("advise", named), ("the former rules", former)):
        for bound, counts in ((HARMLESS, of.harmless), (SEVERE, of.severe)):
            lines.append(
                f"The first lock of {who} has at least {bound:g} of {BASELINE}'s rate in"
                f" {counts[SHOWN]} of {of.cells} cells ({_share(counts[SHOWN], of.cells)}), less in"
                f" {counts[BELOW]}; {counts[OPEN]} are open."
            )
        lines.append(
            f"A lock gains {GAIN:g} or more in {of.gaining} cells; one of the first two of {who}"
            f" reaches {NEAR:g} of the best in {of.near} ({_share(of.near, of.gaining)})."
        )
    return lines


def _share(part: int, whole: int) -> str:
    return numbers.percent(part / whole) if whole else "-"


def _as_json(cell: Cell, of: Verdict, others: float | None) -> dict[str, Any]:
    first = of.of_first()
    return {
        **cell.options,
        "named": list(of.named),
        "former": list(of.former),
        "first": of.first(),
        "harmless": against(first, HARMLESS),
        "severe": against(first, SEVERE),
        "best": of.best.lock,
        "best_later": _figures(of.best.ratio),
        "gains": of.best.gains,
        "near": of.is_near(),
        "former_first": of.first(former=True),
        "former_near": of.is_near(former=True),
        "others": others,
        "ratios": {lock: _figures(each) for lock, each in of.ratios.items()},
    }


def _figures(of: Ratio | None) -> dict[str, Any] | None:
    if of is None:
        return None
    return {"ratio": of.value, "low": of.low, "high": of.high, "rounds": of.rounds}
