"""`lockwright what-if`: the predicted effect of changes of a profiled program."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.common import brief, grammar
from lockwright.commands.common.options import thread_counts
from lockwright.commands.common.prediction import shared_options

if TYPE_CHECKING:
    from lockwright.predict.prepare import Request


@brief.command("what-if")
@click.option(
    "--mutex",
    metavar="RANK|SITE",
    help="The mutex to change: its rank in the profile, or a part of its name or of a place that "
    "takes it.  [default: that with most waiting]",
)
@click.option(
    "--section",
    type=grammar.FiniteRange(min=0, max=100),
    metavar="F",
    help="Its sections last F times as long.",
)
@click.option("--moved", is_flag=True, help="With --section: the rest is done outside, not saved.")
@click.option("--shards", type=click.IntRange(2, 4096), metavar="N", help="N mutexes instead.")
@grammar.lock("Another lock: of the mutex with --mutex, else of all.")
@click.option("--atomic", is_flag=True, help="An atomic variable instead of mutex and section.")
@click.option(
    "--reads",
    type=grammar.FiniteRange(min=0, max=1),
    metavar="SHARE",
    help="A reader-writer lock instead; SHARE of its sections only read, which no profile has.",
)
@grammar.threads("Other numbers of threads.")
@shared_options(is_quick=True)
@grammar.json_file("the changes and the model")
@grammar.csv_file("the table")
@grammar.html_file()
def command(
    request: "Request",
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    threads: str | None,
    **wanted: Any,
) -> int:
    """Predict what a change of a profiled program gains.

    PROFILE is a file that 'lockwright profile -o' wrote. Each change that is given is compared with
    the program as it was profiled, by simulations of its model; several changes are compared one
    by one, not together. Throughput is that of the whole program; the tail is the 99th percentile
    of an acquisition's duration. Nothing is measured: docs/predicting.md compares predictions with
    measurements.
    """
    from lockwright.base import terminal
    from lockwright.predict import of_changes

    counts = thread_counts(threads, most=65536)
    predicted = of_changes.predict(request, of_changes.Wanted(threads=counts, **wanted))
    predicted.show(terminal.output())
    predicted.write(json_file, csv_file, html_file)
    return 1 if predicted.failures else 0
