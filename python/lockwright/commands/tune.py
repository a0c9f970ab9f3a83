"""`lockwright tune`: find the lock under which a program runs best, and confirm it."""

from pathlib import Path

import click

from lockwright.commands.common import brief, complete, grammar, limits
from lockwright.commands.common.comparison_options import comparison_options
from lockwright.compare.request import Request


@brief.command("tune", context_settings={"allow_interspersed_args": False})
@grammar.budget("5m, or 45s for a program whose mutexes cost little")
@click.option(
    "--margin",
    type=limits.Percentage(),
    default="5%",
    show_default=True,
    metavar="P%",
    help="Ignore a smaller difference between locks.",
)
@grammar.locks(
    "all, those first from which most is expected",
    beside=" to try",
    completer=complete.locks_and_default,
)
@grammar.rwlocks(
    "Reader-writer locks to try too, separated by commas, or 'all'; the best of them is also"
    " tried together with the best lock.  [default: those of the advice]",
)
@grammar.shared(
    "--profile",
    "Take the advice from this profile, which 'lockwright profile -o' wrote; the program is"
    " not profiled again.",
    "profile_file",
)
@click.option(
    "--per-mutex",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also try a separate lock for each costly mutex, in half of the time, and write"
    " the best plan to this file, for 'lockwright run --plan'.",
)
@click.option(
    "--with",
    "dimensions",
    metavar="A,B,...",
    help="Also try an allocator, processors to pin the program to, SCHED_BATCH and huge pages, each"
    " alone and with the best lock: some of allocator, pinning, scheduler, pages.",
)
@click.option(
    "--prior-table",
    "prior_files",
    metavar="FILE",
    help="Begin the search with these tables of how locks behaved in other programs, which"
    " 'lockwright bench tune --write-prior' wrote, separated by commas.  [default: the published"
    " programs]",
)
@comparison_options
def command(
    budget: float | None,
    margin: float,
    locks: str | None,
    rwlocks: str | None,
    profile_file: Path | None,
    plan_file: Path | None,
    dimensions: str | None,
    prior_files: str | None,
    options: Request,
) -> int:
    """Find the lock under which a program runs best, and confirm it.

    A first run is profiled, as by 'lockwright profile'. Then the program runs in rounds, each under
    the C library's mutex and two of all locks: those from whose runs most is expected, by how locks
    behaved in other programs, the advice and the runs so far. When a further run is not worth its
    time, or after two thirds of the budget, the best two or three go on until one is left, until no
    other can be better than the best by more than --margin, or until the budget is used up. With
    --locks, all of these run in each round. A lock that is shown to be worse than another drops
    out, and a run is killed once it has taken three times as long as the best lock's. The end is
    the gain of the best lock with a confidence interval, or that there is none.

    The time starts with the first run. Placeholders, --metric, --prepare and the files are those of
    'lockwright compare'. Each run is saved when it ends: repeat the command with --resume if it was
    interrupted.

    Example: lockwright tune --threads 8 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.tune.conduct import Tuning, conduct

    chosen = (locks, rwlocks, profile_file, plan_file, dimensions, prior_files)
    return conduct(Tuning(options, budget, margin, *chosen))
