"""The report on a race as text in a terminal."""

from rich.console import Console

from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.compare import table
from lockwright.compare.report import Report
from lockwright.tune.preparation import Preparation


def show(console: Console, report: Report) -> None:
    """Print the advice, the locks that took part with the reasons, and the tables; nothing for a
    race without a run."""
    if not report.records:
        return
    preparation, plan = Preparation.from_facts(report.comparison.provenance), report.comparison.plan
    if preparation.sentence and preparation.sensitive:
        print_wrapped(console, "its profile: ", preparation.sentence, "")
        console.print()
    print_wrapped(console, "", "locks that were tried", "bold")
    joined = [(lock, "one of the family of the lock that led") for lock in plan.reserves]
    print_terms(console, [(lock.lock, lock.reason) for lock in preparation.candidates] + joined)
    console.print()
    table.show(console, report)


def print_verdict(console: Console, report: Report, use: str) -> None:
    """Print the sentence and the command that uses the best lock, or the changes to the program
    that may help instead."""
    if report.verdict.command is None:
        for change in Preparation.from_facts(report.comparison.provenance).changes:
            print_wrapped(console, "What may help instead: ", change, "")
    table.print_verdict(console, report.verdict, use)
