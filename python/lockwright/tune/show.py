"""What is printed of a race besides the report of a comparison."""

from rich.console import Console

from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.compare.arms import number_of_settings
from lockwright.experiment.report import Report
from lockwright.preload.rwlocks import KEEP, parts_of
from lockwright.tune.preparation import Preparation


def preface(console: Console, report: Report) -> None:
    """Print the advice, and the locks that took part with the reasons; nothing for a race without a
    run."""
    if not report.runs.all:
        return
    preparation = Preparation.from_facts(report.facts)
    if preparation.sentence and preparation.sensitive:
        print_wrapped(console, "its profile: ", preparation.sentence, "")
        console.print()
    ran = {run.contender for run in report.runs}
    tried = [
        (each.lock, each.reason)
        for each in preparation.candidates
        if each.lock in ran or each.lock not in preparation.expected
    ]
    joined = [lock for lock in preparation.reserves if lock in ran]
    tried += [(lock, _why_joined(lock)) for lock in joined]
    if tried:
        print_wrapped(console, "", "locks that were tried", "bold")
        print_terms(console, tried)
        console.print()


def _why_joined(name: str) -> str:
    if number_of_settings(name):
        return "the lock and the settings that led, together"
    if parts_of(name)[1] != KEEP:
        return "the reader-writer lock that led, with the lock that did, or the default one"
    return "the search chose it"


def alternatives(console: Console, report: Report) -> None:
    """Print the changes to the program that may help if no lock does."""
    if report.todo is None:
        for change in Preparation.from_facts(report.facts).changes:
            print_wrapped(console, "What may help instead: ", change, "")
