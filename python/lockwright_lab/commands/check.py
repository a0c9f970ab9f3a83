"""`lockwright check`: run a lock through the model checker."""

from pathlib import Path

import click
from lockwright.commands.common import complete, grammar


@click.command("check")
@click.argument("lock", metavar="LOCK|RWLOCK|HEADER", shell_complete=complete.lock_or_file)
@click.option(
    "--type",
    "type_",
    metavar="NAME",
    help="Class template in the header, as NAME or NAME<Env, ...>.  [default: the file's name]",
)
@click.option(
    "--threads", type=click.IntRange(2, 5), metavar="N", help="Run only programs of N threads."
)
@click.option("--scenario", metavar="NAME", help="Run only this program.")
@grammar.real_number(
    "--budget", 10.0, "End a search after S seconds.", metavar="S", min=0, min_open=True
)
@grammar.json_file("the table and the failing interleaving")
def command(
    lock: str,
    type_: str | None,
    threads: int | None,
    scenario: str | None,
    budget: float,
    json_file: Path | None,
) -> int:
    """Try every interleaving of small programs over a lock, or as many as the budget allows.

    LOCK is one of 'lockwright list' or of 'lockwright list --rwlocks'; HEADER is a file with a lock
    of your own.

    Extent: 'exhaustive' is every interleaving; 'bound=N' every one with at most N switches away
    from a thread that could continue; 'random' as many as the budget allows. If one fails, it is
    printed step by step, and the exit status is 1.
    """
    from lockwright_lab.check.search import search, subject_of

    found = search(subject_of(lock, type_), threads, scenario, budget)
    if json_file is not None:
        found.write(json_file)
    return 1 if found.problem else 0
