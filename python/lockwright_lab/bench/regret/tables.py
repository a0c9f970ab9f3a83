"""The printed form of a grid: the map, the cells that the lock loses, and the summary."""

import statistics
from collections.abc import Mapping, Sequence

from lockwright.base import numbers
from lockwright.calibrate.report import Column, empty_table
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio
from rich.table import Table

from lockwright_lab.bench.regret.verdict import CLOSE, COSTLY, NEAR, Summary, Verdict

COLUMNS = [
    Column("cell", "the load, and the number of threads."),
    Column(
        "regret",
        "rate of the best other lock over the rate of the lock under test, less 1: acquisitions "
        "per second, geometric mean over the rounds. Negative if it is faster than all others.",
    ),
    Column("interval", "95 % confidence interval of the regret."),
    Column(
        "best",
        "the lock chosen as best by the even rounds and compared by the odd ones, and the lock "
        "chosen by the odd rounds, if it is another.",
    ),
    Column(f"to {BASELINE}", f"rate of the lock over that of {BASELINE}, with its interval."),
    Column(
        "longest wait",
        f"the longest wait of a thread, median over the runs; in brackets, that of {BASELINE}.",
    ),
    Column("cpu", f"processor time of the lock over that of {BASELINE}."),
    Column(
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
        rows.setdefault(each.cell.row, {})[each.cell.threads] = each
    return rows


def map_table(verdicts: Sequence[Verdict], lock: str) -> Table:
    """Return the map: a line for each load, a column for each number of threads."""
    counts = sorted({each.cell.threads for each in verdicts})
    columns = [Column("load", ""), *(Column(f"{count} thr.", "") for count in counts)]
    table = empty_table(f"Regret of {lock}", columns)
    for row, by_threads in map_rows(verdicts).items():
        table.add_row(row, *(cell_text(by_threads.get(count)) for count in counts))
    return table


def lost_table(verdicts: Sequence[Verdict]) -> Table | None:
    """Return the cells with a regret above CLOSE, the worst first; None if there is none."""
    lost = [each for each in verdicts if not each.within(CLOSE) and each.survives and each.regret]
    if not lost:
        return None
    table = empty_table(f"Cells with a regret above {numbers.percent(CLOSE)}", COLUMNS)
    for each in sorted(lost, key=lambda each: -(each.regret.value if each.regret else 0.0)):
        table.add_row(*details(each))
    return table


def details(verdict: Verdict) -> list[str]:
    """Return the texts of COLUMNS."""
    regret = verdict.regret
    return [
        verdict.cell.name,
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
    if verdict.longest is None or verdict.cell.threads == 1:
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
            f"{summary.worst.cell.name}, to {summary.worst.winner}."
        )
    least = summary.least_to_baseline
    if least is not None and least.to_baseline is not None:
        lines.append(
            f"Least ratio to {BASELINE}: {_ratio(least.to_baseline)} in {least.cell.name}; cells "
            f"shown to be slower: {summary.slower}."
        )
    if summary.lost:
        lost = ", ".join(f"{name} {count}" for name, count in summary.lost.items())
        lines.append(f"Cells lost by more than {numbers.percent(CLOSE)}, by winner: {lost}.")
    if summary.waits is not None and summary.times is not None:
        lines.append(
            f"Longest wait over that of {BASELINE}, median of the cells: "
            f"{numbers.ratio(summary.waits)}. Processor time likewise: "
            f"{numbers.ratio(summary.times)}; cells shown to be more than "
            f"{numbers.percent(COSTLY)} above it: {summary.costly}."
        )
    if summary.changes:
        times = ", ".join(f"{_settled(each)} in {each.cell.name}" for each in summary.changes)
        lines.append(f"Settled after the change of regime: {times}.")
    if summary.failed:
        lines.append(f"Cells in which it failed: {summary.failed}.")
    return lines


def ablation_table(verdicts: Sequence[Verdict], lock: str) -> Table | None:
    """Return the table of the gain by each mechanism; None if none was switched off."""
    by_mechanism = ablation(verdicts)
    if not by_mechanism:
        return None
    columns = ["mechanism", "mean", "gains", "losses", "most gained", "most lost"]
    table = empty_table(
        f"Rate of {lock} with a mechanism over its rate without",
        [Column(name, "") for name in columns],
    )
    for name, ratios in by_mechanism.items():
        gains = {cell: each for cell, each in ratios.items() if (each.low or 0.0) > 1}
        losses = {cell: each for cell, each in ratios.items() if (each.high or 2.0) < 1}
        mean = numbers.ratio(statistics.geometric_mean([r.value for r in ratios.values()]))
        best = max(ratios, key=lambda cell: ratios[cell].value)
        least = min(ratios, key=lambda cell: ratios[cell].value)
        table.add_row(
            name,
            mean,
            f"{len(gains)} of {len(ratios)}",
            f"{len(losses)} of {len(ratios)}",
            f"{_ratio(ratios[best])} {best}",
            f"{_ratio(ratios[least])} {least}",
        )
    return table


def ablation(verdicts: Sequence[Verdict]) -> Mapping[str, dict[str, Ratio]]:
    """Return, by mechanism and cell, the rate with the mechanism over the rate without."""
    ratios: dict[str, dict[str, Ratio]] = {}
    for each in verdicts:
        for name, ratio in (each.ablated or {}).items():
            ratios.setdefault(name, {})[each.cell.name] = ratio
    return ratios
