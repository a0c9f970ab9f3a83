"""The output of a grid: the map, the cells that the lock loses, the summary, and all figures."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lockwright.base import numbers
from lockwright.experiment.columns import term
from lockwright.experiment.report import INCOMPLETE, Grid
from lockwright.page.rows import Row, number
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.regret.verdict import CLOSE, NEAR, Summary, Verdict

COLUMNS = [
    term("cell", "the load, and the number of threads."),
    term(
        "regret",
        "rate of the best other lock over the rate of the lock under test, less 1: acquisitions "
        "per second, geometric mean over the rounds. Negative if it is faster than all others.",
    ),
    term("interval", "95 % confidence interval of the regret."),
    term(
        "best",
        "the lock chosen as best by the even rounds and compared by the odd ones, and the lock "
        "chosen by the odd rounds, if it is another.",
    ),
    term(f"to {BASELINE}", f"rate of the lock over that of {BASELINE}, with its interval."),
    term(
        "longest wait",
        f"the longest wait of a thread, median over the runs; in brackets, that of {BASELINE}.",
    ),
    term("cpu", f"processor time of the lock over that of {BASELINE}."),
    term(
        "settled",
        "time from a change of regime until the rate is within 5 % of the best lock's new rate; "
        "'never' if the run ends before.",
    ),
]


def cell_text(verdict: Verdict | None) -> str:
    """Return a cell of the map: the regret in per cent, with the winner if it is above CLOSE."""
    if verdict is None:
        return ""
    if not verdict.survives:
        return "failed"
    if verdict.regret is None:
        return "-"
    text = percent(verdict.regret.value)
    return text if verdict.within(CLOSE) else f"{text} {verdict.winner}"


def percent(value: float) -> str:
    """Return a regret in per cent, with its sign."""
    return f"{100 * value:+,.0f} %"


def map_rows(verdicts: Sequence[Verdict]) -> dict[str, dict[int, Verdict]]:
    """Return the verdicts by load and number of threads."""
    rows: dict[str, dict[int, Verdict]] = {}
    for each in verdicts:
        rows.setdefault(each.load.row, {})[each.load.threads] = each
    return rows


def _row(texts: Sequence[str], kind: str = "") -> Row:
    return Row([(text, text) for text in texts], kind)


def map_grid(title: str, verdicts: Sequence[Verdict]) -> Grid:
    """Return the map: a line for each load, a column for each number of threads."""
    counts = sorted({each.load.threads for each in verdicts})
    lines = [
        _row([name, *(cell_text(by_threads.get(count)) for count in counts)])
        for name, by_threads in map_rows(verdicts).items()
    ]
    return Grid(title, ["load", *(f"{count} thr." for count in counts)], lines)


def details_grid(title: str, verdicts: Sequence[Verdict]) -> Grid:
    """Return a table with a line for each cell, the worst first."""

    def regret(verdict: Verdict) -> float:
        return math.inf if verdict.regret is None else verdict.regret.value

    lines = []
    for each in sorted(verdicts, key=regret, reverse=True):
        cells = [(text, text) for text in details(each)]
        if each.regret is not None:
            cells[1] = number(each.regret.value, percent(each.regret.value))
        lines.append(Row(cells, "" if each.within(CLOSE) else INCOMPLETE))
    return Grid(title, [each.heading for each in COLUMNS], lines)


def lost_grid(verdicts: Sequence[Verdict]) -> Grid | None:
    """Return the cells with a regret above CLOSE; None if there is none."""
    lost = [each for each in verdicts if not each.within(CLOSE) and each.survives and each.regret]
    title = f"Cells with a regret above {numbers.percent(CLOSE)}"
    return details_grid(title, lost) if lost else None


def details(verdict: Verdict) -> list[str]:
    """Return the texts of COLUMNS."""
    regret = verdict.regret
    return [
        verdict.load.name,
        "failed" if not verdict.survives else "-" if regret is None else percent(regret.value),
        "-" if regret is None else interval(regret.low, regret.high),
        verdict.winner,
        _ratio(verdict.to_baseline),
        _waits(verdict),
        "-" if verdict.processors is None else numbers.ratio(verdict.processors.value),
        _settled(verdict),
    ]


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of a regret."""
    return "-" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "-"
    return f"{numbers.ratio(ratio.value)} ({numbers.interval(ratio.low, ratio.high)})"


def _waits(verdict: Verdict) -> str:
    if verdict.longest is None or verdict.load.threads == 1:
        return "-"
    text = numbers.time(1e9 * verdict.longest)
    if verdict.baseline_longest is None:
        return text
    return f"{text} ({numbers.time(1e9 * verdict.baseline_longest)})"


def _settled(verdict: Verdict) -> str:
    if not verdict.changes:
        return ""
    return "never" if verdict.settled is None else numbers.time(1e9 * verdict.settled)


def sentences(summary: Summary, lock: str) -> list[str]:
    """Return the summary in words."""
    if not summary.cells:
        return ["No cell has runs that can be compared."]
    lines = [
        f"{lock}: regret at most {numbers.percent(CLOSE)} in {numbers.percent(summary.close)} of "
        f"{summary.cells} cells, at most {numbers.percent(NEAR)} in "
        f"{numbers.percent(summary.near)}; cells shown to be above {numbers.percent(CLOSE)}: "
        f"{summary.shown}."
    ]
    if summary.worst is not None and summary.worst.regret is not None:
        worst = summary.worst.regret
        lines.append(
            f"Largest regret: {percent(worst.value)} ({interval(worst.low, worst.high)}) in "
            f"{summary.worst.load.name}, to {summary.worst.winner}."
        )
    if summary.slower:
        lines.append(f"Cells shown to be slower than {BASELINE}: {summary.slower}.")
    if summary.lost:
        lost = ", ".join(f"{name} {count}" for name, count in summary.lost.items())
        lines.append(f"Cells lost by more than {numbers.percent(CLOSE)}, by winner: {lost}.")
    if summary.waits is not None and summary.times is not None:
        lines.append(
            f"Longest wait over that of {BASELINE}, median of the cells: "
            f"{numbers.ratio(summary.waits)}. Processor time likewise: "
            f"{numbers.ratio(summary.times)}."
        )
    if summary.failed:
        lines.append(f"Cells in which it failed: {summary.failed}.")
    return lines


def others_sentence(summaries: Mapping[str, Summary]) -> str:
    """Return the shares of the other locks, each as the one under test; the best first."""
    ordered = sorted(
        summaries.items(), key=lambda each: (each[1].close, each[1].near), reverse=True
    )
    shares = ", ".join(
        f"{name} {numbers.percent(summary.close)} and {numbers.percent(summary.near)}"
        for name, summary in ordered
    )
    return (
        f"With each other lock as the one under test, at most {numbers.percent(CLOSE)} and at most "
        f"{numbers.percent(NEAR)}: {shares}."
    )


def ablation_grid(verdicts: Sequence[Verdict], lock: str) -> Grid | None:
    """Return the table of the gain by each mechanism; None if none was switched off."""
    by_mechanism = ablation(verdicts)
    if not by_mechanism:
        return None
    lines = []
    for name, ratios in by_mechanism.items():
        gains = sum((each.low or 0.0) > 1 for each in ratios.values())
        losses = sum((each.high or 2.0) < 1 for each in ratios.values())
        best = max(ratios, key=lambda cell: ratios[cell].value)
        least = min(ratios, key=lambda cell: ratios[cell].value)
        texts = [
            name,
            numbers.ratio(statistics.geometric_mean([each.value for each in ratios.values()])),
            f"{gains} of {len(ratios)}",
            f"{losses} of {len(ratios)}",
            f"{_ratio(ratios[best])} {best}",
            f"{_ratio(ratios[least])} {least}",
        ]
        lines.append(_row(texts))
    headings = ["mechanism", "mean", "gains", "losses", "most gained", "most lost"]
    return Grid(f"Rate of {lock} with a mechanism over its rate without", headings, lines)


def ablation(verdicts: Sequence[Verdict]) -> Mapping[str, dict[str, Ratio]]:
    """Return, by mechanism and cell, the rate with the mechanism over the rate without."""
    ratios: dict[str, dict[str, Ratio]] = {}
    for each in verdicts:
        for name, ratio in (each.ablated or {}).items():
            ratios.setdefault(name, {})[each.load.name] = ratio
    return ratios


def as_row(verdict: Verdict, lock: str, *, simulated: bool) -> dict[str, object]:
    """Return the figures of a verdict by the names of the CSV file, None if missing."""
    regret, base = verdict.regret, verdict.to_baseline
    best = ("", "") if regret is None else regret.best
    return {
        "cell": verdict.load.name,
        "load": verdict.load.row,
        "threads": verdict.load.threads,
        "lock": lock,
        "rounds": verdict.rounds,
        "survives": int(verdict.survives),
        "regret": None if regret is None else regret.value,
        "regret_low": None if regret is None else regret.low,
        "regret_high": None if regret is None else regret.high,
        "best_even": best[0],
        "best_odd": best[1],
        "unbounded": int(verdict.unbounded),
        "to_pthread": None if base is None else base.value,
        "to_pthread_low": None if base is None else base.low,
        "to_pthread_high": None if base is None else base.high,
        "longest_wait_s": verdict.longest,
        "pthread_longest_wait_s": verdict.baseline_longest,
        "processor_time_to_pthread": verdict.processors and verdict.processors.value,
        "settled_s": verdict.settled,
        "others": verdict.others,
        "simulated": int(simulated),
    }


def as_document(
    verdicts: Sequence[Verdict], summary: Summary, lock: str, *, simulated: bool
) -> dict[str, Any]:
    """Return the figures of all cells, their summary and the ablation, for JSON."""
    return {
        "simulated": simulated,
        "cells": [as_row(each, lock, simulated=simulated) for each in verdicts],
        "summary": {
            **vars(summary),
            "worst": None if summary.worst is None else summary.worst.load.name,
        },
        "ablation": {
            name: {cell: asdict(ratio) for cell, ratio in ratios.items()}
            for name, ratios in ablation(verdicts).items()
        },
    }
