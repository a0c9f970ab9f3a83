"""`lockwright compare`: run a program under several locks and show which is best."""

from pathlib import Path

import click

from lockwright.commands.common import brief, complete, grammar, limits
from lockwright.commands.common.comparison_options import comparison_options
from lockwright.compare.request import Request


@brief.command("compare", context_settings={"allow_interspersed_args": False})
@grammar.locks(
    "one of each family, or pthread with --rwlocks", completer=complete.locks_and_default
)
@grammar.rwlocks(
    "Reader-writer locks to combine with each of --locks: keep (the C library's, always included),"
    " mutex, or names of `lockwright list --reader-writer`, or 'all'."
)
@grammar.runs(5)
@grammar.integer("--warm-up-runs", 1, "First runs of each lock, which do not count.", least=0)
@click.option(
    "--baseline",
    type=grammar.FILE,
    metavar="FILE",
    help="Compare each lock also with an earlier comparison: the file of its --json.",
)
@click.option(
    "--fail-if-worse",
    type=limits.Percentage(),
    metavar="P%",
    help="Exit with status 1 if a lock is shown to be worse than in --baseline by more than P %.",
)
@grammar.markdown_file()
@comparison_options
def command(
    locks: str | None,
    rwlocks: str | None,
    runs: int,
    warm_up_runs: int,
    baseline: Path | None,
    fail_if_worse: float | None,
    markdown_file: Path | None,
    options: Request,
) -> int:
    """Run a program under several locks and show which is best.

    In CMD and --prepare, {threads} stands for each number of --threads, and {=EXPRESSION} for
    arithmetic with it: {=3200000//t} keeps the total work the same. Allowed are whole numbers,
    t, + - * // ( ) min max.

    Rounds are interleaved: each runs every lock once, in an order shuffled per round. A run that
    takes longer than --timeout is killed with all its children; after two such runs the lock is not
    run again at that number of threads. Standard input is empty, and processes left by --prepare
    are killed at the end of the run.

    With --fail-if-worse, the status is 0 if no lock is shown to be worse, 1 if one is, 2 for bad
    input. A baseline of another machine shows nothing.

    With --rwlocks, each lock runs with each reader-writer lock; LOCK/RWLOCK names the pair, and
    LOCK alone is that with the C library's.

    Each run is saved when it ends: repeat the command with --resume if it was interrupted.

    Example: lockwright compare --threads 1,2,16 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.compare.conduct import Comparison, conduct

    return conduct(
        Comparison(
            options, locks, rwlocks, runs, warm_up_runs, baseline, fail_if_worse, markdown_file
        )
    )
