"""What a race came to, on a terminal."""

from rich.console import Console

from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.compare import table
from lockwright.compare.report import Report
from lockwright.tune.entry import Entry


def show(console: Console, made: Report) -> None:
    """Prints what the profile said, which locks took part and why, and the tables."""
    entry, plan = Entry.from_facts(made.comparison.provenance), made.comparison.plan
    if entry.sentence and entry.sensitive:
        print_wrapped(console, "its profile: ", entry.sentence, "")
        console.print()
    print_wrapped(console, "", "locks that were tried", "bold")
    joined = [(lock, "one of the family of the lock that led") for lock in plan.reserves]
    print_terms(console, [(each.lock, each.reason) for each in entry.entrants] + joined)
    console.print()
    table.show(console, made)


def conclude(console: Console, made: Report, use: str) -> None:
    """Prints the sentence, the line that makes use of it, and what may help if there is none."""
    if made.verdict.command is None:
        for change in Entry.from_facts(made.comparison.provenance).changes:
            print_wrapped(console, "What may help instead: ", change, "")
    table.conclude(console, made.verdict, use)
