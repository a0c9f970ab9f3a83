"""The tables and sentences of the validation of predictions."""

from collections.abc import Sequence

from lockwright.base import numbers
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Grid, text_grid

from lockwright_lab.bench.predictions.agreement import (
    CHANGE,
    RATIO,
    Cell,
    Changed,
    Ratio,
    repeats,
    share,
)

CELLS = [
    term("program", "a program of the catalogue, profiled with 2 threads under pthread."),
    term("threads", "number of threads."),
    term("shown", "pairs of locks that the runs show to differ, and all pairs."),
    term("in order", "the share of the shown pairs that are in the predicted order."),
    term("ratios", f"the share of the ratios to pthread within {100 * RATIO:.0f} %."),
    term("least", "the lowest measured ratio to pthread; < for a run that was ended."),
    term("most", "the highest one."),
]

CHANGES = [
    term("change", "the program, and what an option of it changes."),
    term("measured", "throughput after it divided by that before."),
    term("predicted", "the same, predicted."),
    term("error", "predicted over measured, less 1."),
]

WORST = [
    term("program", "as above."),
    term("threads", "as above."),
    term("lock", "the lock."),
    term("measured", "its ratio to pthread."),
    term("predicted", "the same, predicted."),
]

_OF_HALVES = "for comparison, one half of the rounds against the other:"

GOAL_ORDER, GOAL_RATIOS, GOAL_CHANGES = 0.85, 0.8, 0.8


def cells_table(cells: Sequence[Cell]) -> Grid:
    """Return the table of the programs with each number of threads."""
    lines = []
    for each in cells:
        agreeing = share([ratio.agrees for ratio in each.ratios])
        ordered = sorted(each.ratios, key=lambda ratio: ratio.measured)
        lines.append(
            [
                each.subject,
                str(each.threads),
                f"{each.shown} of {each.pairs}",
                _percent(each.right / each.shown if each.shown else None),
                _percent(agreeing),
                _measured(ordered[0]) if ordered else "-",
                _measured(ordered[-1]) if ordered else "-",
            ]
        )
    return text_grid("Predicted against measured locks", headings(CELLS), lines)


def worst_table(cells: Sequence[Cell], most: int) -> Grid:
    """Return the table of the ratios with the largest errors."""
    wrong = [ratio for each in cells for ratio in each.ratios if not ratio.agrees]
    wrong.sort(key=lambda ratio: -max(x := ratio.predicted / ratio.measured, 1 / max(x, 1e-9)))
    lines = [
        [
            ratio.subject,
            str(ratio.threads),
            ratio.lock,
            _measured(ratio),
            numbers.ratio(ratio.predicted),
        ]
        for ratio in wrong[:most]
    ]
    return text_grid(f"The {most} ratios with the largest errors", headings(WORST), lines)


def changes_table(changes: Sequence[Changed]) -> Grid:
    """Return the table of the changes."""
    lines = [
        [
            each.case.name,
            numbers.ratio(each.measured),
            numbers.ratio(each.predicted),
            f"{100 * (each.predicted / each.measured - 1):+.0f} %",
        ]
        for each in changes
    ]
    return text_grid("Predicted against measured changes", headings(CHANGES), lines)


def sentences(cells: Sequence[Cell], changes: Sequence[Changed]) -> list[str]:
    """Return the figures of the validation, each with its goal."""
    lines = []
    shown = sum(each.shown for each in cells)
    if cells:
        right = sum(each.right for each in cells)
        ratios = [ratio for each in cells for ratio in each.ratios]
        near = share([ratio.agrees for ratio in ratios])
        lines = [
            _sentence(f"Of {shown} pairs shown to differ, in order", right / shown, GOAL_ORDER)
            if shown
            else "No pair of locks is shown to differ.",
            _sentence(
                f"Of {len(ratios)} ratios to pthread, within {100 * RATIO:.0f} %",
                near or 0.0,
                GOAL_RATIOS,
            ),
        ]
        again = repeats([ratio.again for ratio in ratios], RATIO)
        if again:
            lines.append(f"  {_OF_HALVES} {_percent(share(again))} of {len(again)}")
    if changes:
        near = share([each.agrees for each in changes])
        lines.append(
            _sentence(
                f"Of {len(changes)} changes, within {100 * CHANGE:.0f} %", near or 0.0, GOAL_CHANGES
            )
        )
        again = repeats([each.again for each in changes], CHANGE)
        if again:
            lines.append(f"  {_OF_HALVES} {_percent(share(again))} of {len(again)}")
        for kind in dict.fromkeys(each.case.kind for each in changes):
            of_kind = [each.agrees for each in changes if each.case.kind == kind]
            lines.append(f"  of the {len(of_kind)} changes of {kind}: {_percent(share(of_kind))}")
    return lines


def _sentence(what: str, value: float, goal: float) -> str:
    verdict = "met" if value >= goal else "not met"
    return f"{what}: {_percent(value)}; the goal is {_percent(goal)} ({verdict})."


def _measured(ratio: Ratio) -> str:
    return f"{'<' if ratio.is_bound else ''}{numbers.ratio(ratio.measured)}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"
