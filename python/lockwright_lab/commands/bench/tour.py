"""`lockwright bench tour`: the measurements of the papers in some minutes, with a report."""

import time
from pathlib import Path

import click
from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import grammar


@click.command()
@grammar.real_number(
    "--minutes",
    10.0,
    "Measure for M minutes. A round begins only if it fits into the remaining time; with less "
    "time, each run is shorter.",
    metavar="M",
    min=0,
    min_open=True,
)
@grammar.locks("those of the papers", beside=" to measure beside libc")
@click.option(
    "--claims/--no-claims",
    "with_claims",
    default=True,
    show_default=True,
    help="Also test the claims of the papers, as 'lockwright bench claims' does.",
)
@grammar.output_to_folder("the report", default="lockwright-tour-DATE")
@click.option("--resume", is_flag=True, help="Resume the interrupted tour in DIR.")
def tour(
    minutes: float,
    locks: str | None,
    with_claims: bool,
    output: Path | None,
    resume: bool,
) -> None:
    """Make the measurements of the papers in some minutes, and write a report.

    Throughput by threads, durations of acquisitions, fairness, the cost of an uncontended lock and
    of sleeping, energy where it can be measured, and the claims of the papers.

    The directory gets report.html, which needs no other file, figures.csv and tour.json with the
    figures, and runs.jsonl with every run. Ctrl-C ends with a report of the results so far.
    """
    if resume and output is None:
        raise LockwrightError("--resume needs the directory of a tour", "name it with -o")
    if resume and locks is not None:
        raise LockwrightError("--resume uses the locks of the tour", "leave out --locks")
    from lockwright_lab.bench.tour import tour_session

    directory = output or Path(time.strftime("lockwright-tour-%Y-%m-%d-%H%M%S"))
    session = (
        tour_session.resume(directory)
        if resume
        else tour_session.begin(directory, locks, with_claims, minutes)
    )
    results, stopped, left = tour_session.run(session, minutes)
    written = tour_session.write(results, directory)
    console = terminal.output()
    for remark in results.remarks:
        console.print(remark, markup=False)
    if stopped is not None:
        resume_command = tour_session.resume_command(directory, left)
        console.print(f"Resume it: {resume_command}", markup=False, soft_wrap=True)
    for path in reversed(written):
        console.print(f"Written: {path}", markup=False, soft_wrap=True)
    if stopped is not None:
        click.get_current_context().exit(stopped.status)
    if session.failures:
        click.get_current_context().exit(1)
