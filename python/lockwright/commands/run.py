"""`lockwright run`: run a program with a lock in place."""

from pathlib import Path
from typing import Any

import click

from lockwright.commands.common import brief, complete, grammar
from lockwright.commands.common.options import name_list, other_lock_options, setting_options


def _pieces(_: click.Context, __: click.Parameter, text: str | None) -> list[str]:
    """Return the pieces of --keep. Raises LockwrightError for others."""
    from lockwright.preload.locks import KEPT

    return [] if text is None else name_list(text, "--keep", KEPT)


@brief.command("run", context_settings={"allow_interspersed_args": False})
@grammar.lock("Put this lock in place.  [default: default]", complete.lock_or_default)
@click.option(
    "--plan",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Put several locks in place, as this plan assigns them to mutexes: docs/plans.md.",
)
@click.option(
    "--stats", is_flag=True, help="Print the counts of the lock's operations on stderr afterwards."
)
@click.option(
    "--metrics",
    is_flag=True,
    help="Let the program count its waits for mutexes, for 'lockwright metrics'.",
)
@click.option(
    "--cond",
    type=click.Choice(["adaptive", "cr"]),
    help="Let a condition variable wake the longest waiter first, unless one polls, as one does "
    "that was soon woken before (adaptive); or mostly the latest one, so that few threads of a "
    "pool are active (cr, concurrency restriction).  [default: adaptive; under pthread: the "
    "longest]",
)
@click.option(
    "--sem",
    type=click.Choice(["adaptive", "cr"]),
    help="Keep the C library's semaphores, before whose waits threads may poll as with --cond "
    "adaptive; or replace them by ones that wake as with --cond cr.  [default: adaptive; under "
    "pthread: keep]",
)
@other_lock_options
@click.option(
    "--keep",
    metavar="PIECES",
    callback=_pieces,
    help="Leave these alone, separated by commas: rwlock, the C library's reader-writer locks; "
    "cond, waits for condition variables without polls, the longest waiter woken first; sem, the "
    "C library's semaphores without polls.",
)
@setting_options
@grammar.command_line("[--] CMD...", required=True)
def command(**options: Any) -> int:
    """Run a program with a lock in place of its mutexes, or with several by a plan.

    Exit status, signals, input and output of the program are unchanged, also if it took no mutex.
    If it cannot be started, the status is 2.
    """
    from lockwright.plan import launch

    request = launch.Request(**options)
    prepared = launch.prepare(request)
    is_planned = prepared.subject.plan is not None and bool(prepared.subject.plan.entries)
    if not request.stats and not is_planned:
        launch.become(prepared)
    from lockwright.plan import counted

    return counted.run(prepared, all_counts=request.stats)
