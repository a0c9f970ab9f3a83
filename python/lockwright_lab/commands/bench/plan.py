"""`lockwright bench mixed` and `bench plan`: cost and benefit of a lock for each mutex."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import definitions, processors
from lockwright.commands.common import complete, grammar
from lockwright.commands.common.options import name_list
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC, Subject, subjects

from lockwright_lab.bench import mixed as mixed_runs
from lockwright_lab.bench import quiet_and_hot
from lockwright_lab.bench.interposition import SETTINGS
from lockwright_lab.bench.output import show
from lockwright_lab.commands.bench.report_setup import (
    BEFORE_AND_AFTER,
    finish,
    new_report,
    pinned_busy_work,
)


def _locks(names: str | None, default: tuple[str, ...] | None) -> list[Subject]:
    """Return the subjects that can be locks of a plan."""
    known = registry().names
    available = None if default is None else [name for name in default if name in known]
    chosen = [subject for subject in subjects(names, available) if subject.name != LIBC]
    for subject in chosen:
        if subject.name not in known:
            raise LockwrightError(
                f"'{subject.name}' is not a lock of a plan",
                "give locks that 'lockwright list' shows",
            )
    if not chosen:
        raise LockwrightError("there is no lock to measure", "name some with --locks")
    return chosen


@click.command(
    "mixed",
    help="Measure the additional cost of the library with a lock for each mutex over the library "
    f"of one lock.\n\n{definitions(mixed_runs.COLUMNS)}",
)
@grammar.locks("all")
@click.option(
    "--settings",
    default=",".join(setting.name for setting in mixed_runs.USUAL),
    show_default=True,
    metavar="A,B,...",
    help="Settings of 'lockwright bench interposition', separated by commas.",
)
@grammar.runs(7)
@grammar.seconds(0.1)
@grammar.json_file("every run and every figure")
def mixed(
    locks: str | None, settings: str, runs: int, seconds: float, json_file: Path | None
) -> None:
    """Measure, and print a table for each setting."""
    wanted = [SETTINGS[name] for name in name_list(settings, "--settings", SETTINGS)]
    chosen = _locks(locks, None)
    warm_up = seconds / 4
    report = new_report(
        "mixed",
        mixed_runs.COLUMNS,
        {"locks": locks, "settings": settings, "runs": runs, "seconds": seconds},
    )
    options = {"seconds": seconds, "warm-up": warm_up, **pinned_busy_work()}
    limit = seconds + warm_up + BEFORE_AND_AFTER
    tables = mixed_runs.measure(report, registry(), chosen, wanted, runs, options, limit)
    show(report, tables, mixed_runs.remarks(report, wanted), json_file)
    finish(report)


def _choice(name: str, mutexes: str) -> Callable[..., Any]:
    return click.option(
        f"--{name}",
        default=getattr(quiet_and_hot.Choice(), name),
        show_default=True,
        metavar="LOCK",
        shell_complete=complete.lock,
        help=f"The plan's lock of {mutexes}.",
    )


@click.command(
    "plan",
    help="Measure a program with thousands of quiet mutexes and two contended ones, under single "
    f"locks and under a plan with a lock for each kind.\n\n{definitions(quiet_and_hot.COLUMNS)}",
)
@grammar.locks(", ".join(quiet_and_hot.DEFAULT_LOCKS), beside=" to use alone")
@_choice("quiet", "the quiet mutexes")
@_choice("crowd", "the mutex that all threads take")
@_choice("exchange", "the mutex of two threads")
@grammar.runs(7)
@grammar.timeout(5.0)
@grammar.integer("--mutexes", 4000, "Number of quiet mutexes.")
@grammar.integer("--threads-per-core", 8, "Threads for each processor.")
@grammar.integer("--work", 5, "Repetitions of each phase.")
@grammar.integer("--times", 200_000, "Acquisitions that do work, in a phase.", least=1000)
@grammar.json_file("every run and every figure")
def plan(
    locks: str | None,
    quiet: str,
    crowd: str,
    exchange: str,
    runs: int,
    timeout: float,
    json_file: Path | None,
    **sizes: int,
) -> None:
    """Measure, and print the table."""
    known = registry()
    choice = quiet_and_hot.Choice(quiet, crowd, exchange)
    for name in choice.plan().all_locks:
        known.find(name)
    chosen = _locks(locks, quiet_and_hot.DEFAULT_LOCKS)
    arguments: dict[str, object] = {
        "quiet": sizes["mutexes"],
        "threads": max(2, sizes["threads_per_core"] * processors()),
        "processors": processors(),
        "rounds": sizes["work"],
        "times": sizes["times"],
    }
    settings: dict[str, object] = {
        "locks": locks,
        "quiet": quiet,
        "crowd": crowd,
        "exchange": exchange,
        "runs": runs,
        "timeout": timeout,
        **{name.replace("_", "-"): size for name, size in sizes.items()},
    }
    report = new_report("plan", quiet_and_hot.COLUMNS, settings)
    tables = quiet_and_hot.measure(report, known, chosen, choice, runs, arguments, timeout)
    show(report, tables, quiet_and_hot.remarks(report), json_file)
    finish(report)
