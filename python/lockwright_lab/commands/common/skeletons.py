"""Steps of the commands that simulate skeletons."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from lockwright.commands.common import grammar
from lockwright.simulate.progress import simulations

if TYPE_CHECKING:
    from lockwright.predict.skeletons.study import Plan, Row
    from pandas import DataFrame

PUBLISHED_LOCKS = [
    "ahmcs",
    "alock-ls",
    "backoff",
    "c-bo-mcs-spin",
    "c-bo-mcs-stp",
    "c-ptl-tkt",
    "c-tkt-tkt",
    "clh-ls",
    "clh-spin",
    "clh-stp",
    "hmcs",
    "hticket-ls",
    "malth-spin",
    "malth-stp",
    "mcs-ls",
    "mcs-spin",
    "mcs-stp",
    "mcs-timepub",
    "mutexee",
    "partitioned",
    "pthread",
    "pthreadadapt",
    "spinlock",
    "spinlock-ls",
    "ticket",
    "ticket-ls",
    "ttas",
    "ttas-ls",
]
"""The locks of the published study (TOCS 2019)."""


def published_file() -> grammar.Decorator:
    """Return the argument PUBLISHED, the runs of one machine."""
    return click.argument("published", type=click.Path(path_type=Path, dir_okay=False))


def machine(of: str) -> grammar.Decorator:
    """Return the required `--machine`, passed as `machine_name`. of: its meaning."""
    return click.option(
        "--machine",
        "machine_name",
        required=True,
        metavar="NAME|FILE",
        help=f"{of}: one of 'lockwright simulate --list', a TOML file, or 'here' for this one, "
        "which is measured at the first use.",
    )


def folder_of_skeletons() -> grammar.Decorator:
    """Return `--skeletons DIR`, passed as `skeletons_folder`."""
    return click.option(
        "--skeletons",
        "skeletons_folder",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Directory of the skeletons.  [default: those of Lockwright]",
    )


def made_folder(path: Path) -> Path:
    """Return a directory, which is made if it is not there. Raises LockwrightError otherwise."""
    from lockwright.base.errors import LockwrightError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LockwrightError(
            f"cannot make {path}: {error.strerror}", "give another directory with -o"
        ) from error
    return path


def published_locks(tables: "Mapping[str, DataFrame]") -> list[str]:
    """Return the locks of published throughputs that can be simulated. tables: by application."""
    from lockwright.simulate.run import catalogue

    known = {str(lock) for table in tables.values() for lock in table.columns}
    return [lock for lock in sorted(known) if lock in catalogue().locks]


def locks_of_study(names: str | None) -> list[str]:
    """Return the locks of a comma-separated list, all of the published study for None."""
    from lockwright.simulate.run import catalogue, choose_locks

    if names is not None:
        return choose_locks(names)
    return [lock for lock in PUBLISHED_LOCKS if lock in catalogue().locks]


def simulate_study(path: Path, planned: "Plan", timeout: float, resumes: bool) -> int:
    """Make the simulations that a file lacks, and print how many it has. Return the exit status;
    after a signal the file is complete up to there."""
    from lockwright.base import interrupts, invocation, terminal
    from lockwright.base.progress import print_line
    from lockwright.predict.skeletons import study
    from lockwright.run import resume

    done: set[tuple[str, ...]] = set()
    if resumes:
        done = study.resume(path, planned)
    else:
        study.begin(path)
    missing = planned.missing(done)
    console = terminal.output()
    jobs = len({row.prediction for row in missing})
    print_line(f"{len(missing)} predicted runs to make, in {jobs} simulations")
    try:
        with interrupts.stop_on_signals(), simulations(jobs) as advance:

            def show(row: "Row") -> None:
                advance(f"{row.lock}, {row.application}")

            failures = study.simulate(path, planned, missing, timeout, show)
    except interrupts.Stopped as stopped:
        words = [*invocation.command_words(), *sys.argv[1:], *([] if resumes else ["--resume"])]
        print_line(resume.interruption_message(shlex.join(words)))
        return stopped.status
    console.print(
        f"{path}: {len(planned.rows)} predicted runs; none was measured.",
        markup=False,
        soft_wrap=True,
    )
    for what, why in sorted(failures.items()):
        console.print(f"FAILED: {what}: {why}", style="bold red", markup=False, soft_wrap=True)
    return 1 if failures else 0
