"""The tables and sentences of a validation."""

from collections.abc import Callable, Sequence

from lockwright.experiment.columns import Column, headings
from lockwright.experiment.report import Grid, text_grid

from lockwright_lab.bench.validation.agreement import Agreement, share


def by_subject(
    title: str,
    columns: Sequence[Column],
    found: Agreement,
    ceiling: Agreement,
    order: Callable[[Agreement], str],
) -> Grid:
    """Return a table with a row for each subject: the pairs shown to differ, their order, the share
    of the ratios that agree, and the same of the ceiling. order: the text of the third column."""
    lines = []
    for subject in dict.fromkeys(each.subject for each in found.cells):
        part = found.of_subject(subject)
        lines.append(
            [
                subject,
                f"{part.shown} of {sum(each.pairs for each in part.cells)}",
                order(part),
                percent_of(part.near),
                percent(share(ceiling.of_subject(subject).near)),
            ]
        )
    return text_grid(title, headings(columns), lines)


def percent(value: float | None) -> str:
    """Return a share in per cent, `-` for None."""
    return "-" if value is None else f"{100 * value:.0f} %"


def percent_of(values: Sequence[bool]) -> str:
    """Return the share of true values, and the number of all."""
    return f"{percent(share(values))} of {len(values)}" if values else "-"


def goal(what: str, value: float | None, least: float, show: Callable[[float], str]) -> str:
    """Return a sentence with a figure and its goal."""
    if value is None:
        return f"{what}: none."
    verdict = "met" if value >= least else "not met"
    return f"{what}: {show(value)}; the goal is {show(least)} ({verdict})."
