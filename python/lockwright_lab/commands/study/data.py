"""The options that select the runs of a study and their analysis."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lockwright.commands.common import complete

if TYPE_CHECKING:
    from lockwright_lab.study.analysis import Analysis
    from lockwright_lab.study.dataset import DataSet
    from lockwright_lab.study.rules import Rule


@dataclass(frozen=True)
class AnalysisOptions:
    """The values of these options."""

    data: tuple[Path, ...]
    metrics: tuple[str, ...]
    better: str | None
    tolerance: str | None
    counts: str | None
    baseline: str


_OPTIONS = (
    click.argument(
        "data", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DATA..."
    ),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="Analyse this metric; repeatable.",
    ),
    click.option(
        "--better",
        type=click.Choice(["higher", "lower"]),
        help="Good values of --metric, if it is not a known one.",
    ),
    click.option(
        "--tolerance",
        metavar="N%|ci",
        help="Call one lock better than another if their means are more than N per cent apart (the"
        " published studies take 5%), or by confidence intervals of the runs.  [default: ci, where"
        " runs are repeated]",
    ),
    click.option(
        "--counts",
        metavar="N,N,...",
        help="Counts of the tables of changes and of the best_lock ratio.",
    ),
    click.option(
        "--baseline",
        default="pthread",
        show_default=True,
        metavar="LOCK",
        shell_complete=complete.lock,
        help="Lock that ratios are relative to.",
    ),
)


def data_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; they come as its first argument, an AnalysisOptions."""

    @wraps(function)
    def with_options(**given: Any) -> None:
        names = AnalysisOptions.__dataclass_fields__
        what = AnalysisOptions(**{name: given.pop(name) for name in names})
        function(what, **given)

    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options


def read_and_analyse(what: AnalysisOptions) -> "tuple[DataSet, Analysis]":
    """Read the data and analyse them. Raises LockwrightError for bad options and bad data."""
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study import lock_names, reading
    from lockwright_lab.study.analysis import Choices, analyse

    if what.better and len(what.metrics) != 1:
        raise LockwrightError("--better is about one metric", "name it with --metric")
    metrics = tuple(metric.lower() for metric in what.metrics)
    choices = Choices(
        metrics, _rule(what.tolerance), _counts(what.counts), lock_names.project_name(what.baseline)
    )
    data = reading.read(what.data, {metrics[0]: what.better} if what.better else None)
    return data, analyse(data, choices)


def _rule(tolerance: str | None) -> "Rule | None":
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.rules import Margin, Shown

    if tolerance is None:
        return None
    if tolerance.strip().lower() == "ci":
        return Shown()
    try:
        percent = float(tolerance.strip().rstrip("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 100:
        raise LockwrightError(
            f"--tolerance '{tolerance}' is neither a percentage nor ci", "write 5% or ci"
        )
    return Margin(percent / 100)


def _counts(text: str | None) -> tuple[int, ...]:
    from lockwright.base.errors import LockwrightError

    words = [word.strip() for word in text.split(",")] if text else []
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise LockwrightError(f"--counts '{text}' is not a list of numbers", "write it as 1,2,4")
    return tuple(sorted({int(word) for word in words}))
