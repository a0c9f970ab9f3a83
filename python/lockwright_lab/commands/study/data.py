"""The options that select the runs of a study and their analysis."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lockwright.commands.common import complete, grammar
from lockwright.commands.common.options import thread_counts

from lockwright_lab.commands.common.grammar import shared

if TYPE_CHECKING:
    from lockwright_lab.study.analysis import Analysis
    from lockwright_lab.study.dataset import DataSet
    from lockwright_lab.study.rules import Rule


@dataclass(frozen=True)
class AnalysisOptions:
    """The values of these options."""

    data: tuple[Path, ...]
    columns: str | None
    better: str | None
    tolerance: str | None
    threads: str | None
    relative_to: str


_OPTIONS = (
    click.argument(
        "data", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DATA..."
    ),
    shared("--columns", "Analyse these metrics, columns of the data.  [default: all]"),
    shared("--better", "Good values of the one metric of --columns, if it is not a known one."),
    shared(
        "--tolerance",
        "Call one lock better than another if their means are more than P per cent apart (the"
        " published studies take 5%), or by confidence intervals of the runs.  [default: ci, where"
        " runs are repeated]",
    ),
    grammar.threads("Numbers of threads, or of nodes, of the tables of changes and of best locks."),
    shared(
        "--relative-to",
        "Lock that ratios are relative to.",
        default="pthread",
        show_default=True,
        shell_complete=complete.lock,
    ),
)


def data_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; they come as its first argument, an AnalysisOptions."""

    @wraps(function)
    def with_options(**given: Any) -> None:
        names = AnalysisOptions.__dataclass_fields__
        what = AnalysisOptions(**{name: given.pop(name) for name in names})
        function(what, **given)

    return grammar.with_options(with_options, _OPTIONS)


def read_and_analyse(what: AnalysisOptions) -> "tuple[DataSet, Analysis]":
    """Read the data and analyse them. Raises LockwrightError for bad options and bad data."""
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study import lock_names, reading
    from lockwright_lab.study.analysis import Choices, analyse

    words = (word.strip().lower() for word in (what.columns or "").split(","))
    metrics = tuple(filter(None, words))
    if what.better and len(metrics) != 1:
        raise LockwrightError("--better is about one metric", "name it with --columns")
    choices = Choices(
        metrics,
        _rule(what.tolerance),
        tuple(sorted(thread_counts(what.threads))),
        lock_names.project_name(what.relative_to),
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
