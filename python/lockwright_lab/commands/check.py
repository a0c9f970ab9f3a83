"""`lockwright check`: run a lock through the model checker."""

from pathlib import Path

import click
from lockwright.commands.common import brief, complete, grammar
from lockwright.commands.common.options import thread_counts

from lockwright_lab.commands.common.grammar import class_template


@brief.command("check")
@click.argument("lock", metavar="LOCK|RWLOCK|HEADER", shell_complete=complete.lock_or_file)
@class_template
@grammar.threads("Run only programs of these numbers of threads.")
@click.option("--scenario", metavar="NAME", help="Run only this program.")
@grammar.budget("10s", "End each search after this time, as in 90s or 5m.", default="10s")
@grammar.json_file("the table and the failing interleaving")
def command(
    lock: str,
    type_: str | None,
    threads: str | None,
    scenario: str | None,
    budget: float,
    json_file: Path | None,
) -> int:
    """Try every interleaving of small programs over a lock, or as many as the budget allows.

    LOCK is one of 'lockwright list', RWLOCK one of 'lockwright list --reader-writer'; HEADER is a
    file with a lock of your own.

    Extent: 'exhaustive' is every interleaving; 'bound=N' every one with at most N switches away
    from a thread that could continue; 'random' as many as the budget allows. If one fails, it is
    printed step by step, and the exit status is 1.
    """
    from lockwright_lab.check.search import search, subject_of

    found = search(subject_of(lock, type_), thread_counts(threads), scenario, budget)
    if json_file is not None:
        found.write(json_file)
    return 1 if found.problem else 0
