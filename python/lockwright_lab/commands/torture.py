"""`lockwright torture`: try to break a lock."""

from pathlib import Path
from typing import Any

import click
from lockwright.commands.common import brief, complete, grammar


@brief.command("torture")
@click.argument("name", metavar="LOCK|RWLOCK|all|rwlocks", shell_complete=complete.tortured)
@grammar.budget("1m for each lock", "Time for all locks together, as in 90s, 5m or 1h.")
@grammar.seed()
@grammar.real_number(
    "--patience",
    10.0,
    "Report a thread that makes no progress for S seconds.",
    metavar="S",
    min=0.1,
)
@grammar.integer("--phase", None, "Repeat only this phase of the plan.", least=0)
@click.option("--only", metavar="A,B,...", help="Run only these kinds of phases.")
@click.option("--without", metavar="A,B,...", help="Leave out these kinds or disturbances.")
@grammar.json_file("all findings")
def command(name: str, json_file: Path | None, **options: Any) -> int:
    """Try to break a lock or a reader-writer lock.

    'all' stands for every lock, 'rwlocks' for every reader-writer lock.

    Threads use mutexes and condition variables in every legal way, under disturbances:
    pauses, signals, cancellations, forks, stops of the process, migrations. The checks:
    mutual exclusion, progress of every thread, the order of admission where the lock promises one,
    deadlines, and memory that does not grow.

    The plan is divided into phases. Their kinds: crowd, churn, rings, herd, producers, forks,
    order, reuse, memory; disturbances: stutter, shuffle, stops, signals. The same seed gives the
    same plan, not the same run. Reader-writer locks have one kind, readers.

    The exit status is 0 if every lock passed, 1 if one failed.
    """
    from lockwright_lab.torture import session

    planned = session.prepare(name, **options)
    planned.announce(name)
    return session.conclude(session.carry_out(planned), json_file)
