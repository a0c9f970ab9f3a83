"""The comparison of locks by runs of a program.

`compare` is what `lockwright compare` does, for Python.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockwright.experiment.report import Report


def compare(
    command: Sequence[str],
    locks: Iterable[str] = (),
    threads: Iterable[int] = (),
    *,
    runs: int = 5,
    warmup: int = 1,
    metric: str | None = None,
    unit: str | None = None,
    lower_is_better: bool = False,
    timeout: float = 60.0,
    db: Path | None = None,
) -> "Report":
    """Run a program under several locks, and return the report.

    command: the program and its arguments, in which {threads} stands for each number of `threads`;
    locks: names, by default one of each family; metric: a regular expression for the number to
    compare, which has the `unit`, None for the wall time; timeout: seconds of a run; db: the file
    that the runs are stored in, None for that of the user. The report has a `conclusion`, and
    `cells`: for each number of threads the results of each lock, the best first. Raises
    LockwrightError.
    """
    from lockwright.compare.conduct import Comparison, measure
    from lockwright.compare.request import Request
    from lockwright.experiment import request

    wanted = Request(
        tuple(command),
        ",".join(map(str, threads)) or None,
        metric,
        unit,
        lower_is_better,
        timeout,
        output=request.Request(db=db),
    )
    return measure(Comparison(wanted, ",".join(locks) or None, runs=runs, warmup=warmup))
