"""`lockwright bench tour`: what the papers measure, in some minutes, with a report."""

import time
from pathlib import Path

import click

from lockwright.base import terminal
from lockwright.base.errors import LockwrightError


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="How long to measure. A round begins only if it fits into what is left; with less time, "
    "each run is shorter.",
)
@click.option(
    "--locks",
    help="Locks to show beside libc, separated by commas, or 'all'.  [default: nine of the papers]",
)
@click.option(
    "--claims/--no-claims",
    "with_claims",
    default=True,
    show_default=True,
    help="Whether to test the claims of the papers, too, as 'lockwright bench claims' does.",
)
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path),
    help="Directory of the report; it is made.  [default: lockwright-tour-DATE]",
)
@click.option("--resume", is_flag=True, help="Go on with the tour that is in the directory.")
def tour(
    minutes: float,
    locks: str | None,
    with_claims: bool,
    directory: Path | None,
    resume: bool,
) -> None:
    """What the papers measure, in some minutes, with a report.

    Throughput by threads, how long acquisitions take, fairness, the cost of a lock that nobody
    else wants and of sleeping, energy where it can be measured, and the claims of the papers.
    The directory gets report.html, which needs nothing else, figures.csv and tour.json with the
    figures, and runs.jsonl with every run as it was made. Ctrl-C ends with a report of what was
    measured by then.
    """
    if resume and directory is None:
        raise LockwrightError("--resume names no tour", "name its directory with -o")
    if resume and locks is not None:
        raise LockwrightError("--resume goes on with the locks of the tour", "leave --locks out")
    from lockwright.bench.tour import sitting

    where = directory or Path(time.strftime("lockwright-tour-%Y-%m-%d-%H%M%S"))
    one = sitting.resume(where) if resume else sitting.begin(where, locks, with_claims, minutes)
    seen, stopped, left = sitting.sit(one, minutes)
    written = sitting.write(seen, where)
    console = terminal.output()
    for remark in seen.remarks:
        console.print(remark, markup=False)
    if stopped is not None:
        console.print(f"Go on: {sitting.to_go_on(where, left)}", markup=False, soft_wrap=True)
    for path in reversed(written):
        console.print(f"Written: {path}", markup=False, soft_wrap=True)
    if stopped is not None:
        click.get_current_context().exit(stopped.status)
    if one.failures:
        click.get_current_context().exit(1)
