"""`lockwright what-if`: the effect of changes of a program, predicted or measured."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.common import brief, grammar
from lockwright.commands.common.options import thread_counts
from lockwright.commands.common.prediction import shared_options

if TYPE_CHECKING:
    from lockwright.predict.prepare import Request
    from lockwright.speedup.choice import Wanted
    from lockwright.speedup.measure import Measured

_SHARES = (25, 50, 75, 100)
"""Per cent by which sections are shorter in experiments, without --section."""

_ROUNDS = 3
"""Least number of runs of each share: an interval of two is too wide."""

_OF_MEASURING = ("no_waiting", "readers", "progress", "metric", "lower_is_better", "profile_file")
"""Arguments of the command that only --measure has."""


@brief.command("what-if")
@click.option(
    "--measure",
    is_flag=True,
    help="Run CMD, and measure what shorter sections gain, by experiments on the running program.",
)
@click.option(
    "--mutex",
    "mutexes",
    metavar="RANK|SITE",
    multiple=True,
    help="The mutex to change: its rank in the profile, or a part of its name or of a place that "
    "takes it; with --measure again for each further one.  [default: that with most waiting; with "
    "--measure the three, or one of --metric]",
)
@click.option(
    "--section",
    type=grammar.FiniteRange(min=0, max=100),
    metavar="F",
    help="Its sections last F times as long.",
)
@click.option(
    "--no-waiting",
    is_flag=True,
    help="With --measure: no waits for it, as if each thread had one of its own.",
)
@click.option(
    "--readers",
    metavar="SITE",
    multiple=True,
    help="With --measure: sections of the mutex that begin at places with SITE in their names only "
    "read, and go together, as under a reader-writer lock.",
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
@grammar.threads("Other numbers of threads; with --measure fewer ones.")
@click.option(
    "--progress",
    metavar="RANK|SITE|end",
    help="With --measure: the mutex whose acquisitions are the program's progress, or `end`: the "
    "wall time of several runs.  [default: each mutex of --mutex itself]",
)
@grammar.shared(
    "--metric",
    "With --measure: measure this number in the output of several runs: the first group of the "
    "last match.",
)
@grammar.shared("--lower-is-better", "Lower values of --metric are better.")
@grammar.shared(
    "--profile", "With --measure: also show what is predicted from this profile.", "profile_file"
)
@shared_options(
    is_quick=True,
    arguments=grammar.command_line("PROFILE | --measure -- CMD...", required=True),
)
@grammar.json_file("the changes and the model")
@grammar.csv_file("the table")
@grammar.html_file()
def command(
    request: "Request",
    arguments: tuple[str, ...],
    measure: bool,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    mutexes: tuple[str, ...],
    threads: str | None,
    **given: Any,
) -> int:
    """Predict, or measure, what a change of a program gains.

    PROFILE is a file that 'lockwright profile -o' wrote. Each change that is given is compared with
    the program as it was profiled, by simulations of its model; several changes are compared one
    by one, not together. Throughput is that of the whole program; the tail is the 99th percentile
    of an acquisition's duration. Nothing is measured: docs/predicting.md compares predictions with
    measurements.

    With --measure, CMD is run, and sections of its mutexes count as shorter, or waits for them as
    none, of one at a time: the other threads are delayed instead, by so much. With --metric or
    --progress end, it is run several times, three rounds or --runs. docs/what-if.md tells how far
    to rely on it.
    """
    of_measuring = {name: given.pop(name) for name in _OF_MEASURING}
    if measure:
        outputs = {"--json": json_file, "--csv": csv_file, "--html": html_file}
        counts = {"counts": thread_counts(threads, most=65536)}
        return _measure(request, arguments, mutexes, of_measuring | counts, outputs, given)
    if len(arguments) > 1 or len(mutexes) > 1 or any(of_measuring.values()):
        from lockwright.base.errors import LockwrightError

        raise LockwrightError(
            "without --measure, what-if takes one profile and one --mutex, no --no-waiting,"
            " --readers, --progress, --metric or --profile",
            "see 'lockwright what-if --help' for both",
        )
    given["mutex"] = mutexes[0] if mutexes else None
    return _predict(request, threads, given, (json_file, csv_file, html_file))


def _predict(
    request: "Request",
    threads: str | None,
    wanted: Mapping[str, Any],
    outputs: tuple[Path | None, Path | None, Path | None],
) -> int:
    from lockwright.base import terminal
    from lockwright.predict import of_changes

    counts = thread_counts(threads, most=65536)
    predicted = of_changes.predict(request, of_changes.Wanted(threads=counts, **wanted))
    predicted.show(terminal.output())
    predicted.write(*outputs)
    return 1 if predicted.failures else 0


def _measure(
    request: "Request",
    arguments: tuple[str, ...],
    mutexes: tuple[str, ...],
    given: Mapping[str, Any],
    outputs: Mapping[str, Path | None],
    wanted: dict[str, Any],
) -> int:
    from dataclasses import replace

    from lockwright.base import terminal
    from lockwright.predict import of_changes
    from lockwright.run import foreground
    from lockwright.speedup import show
    from lockwright.speedup.choice import MOST, Wanted

    _check_measurable(wanted, outputs)
    is_whole = _is_whole(given)
    changes = _changes(wanted["section"], given, is_whole)
    most = 1 if is_whole or given["counts"] or given["readers"] else MOST
    simulated: show.Simulated = {}
    if given["profile_file"] is not None:
        of_profile = replace(request, profile=given["profile_file"])
        shares = [each for each in changes if 0 < each <= 100]
        simulated = of_changes.shorter_sections(of_profile, mutexes, most, shares)
        mutexes = tuple(simulated)
    progress = None if is_whole else given["progress"]
    asked = Wanted(mutexes, progress, (0, *changes), request.seed, most=most, is_whole=is_whole)
    asked = replace(asked, readers=given["readers"])
    measured = _measured(request, list(arguments), asked, given)
    show.show(terminal.errors(), measured, simulated)
    show.write(measured, simulated, outputs)
    return foreground.end_as(measured.status)


def _measured(
    request: "Request", command: list[str], asked: "Wanted", given: Mapping[str, Any]
) -> "Measured":
    """Run the command with experiments, once or several times."""
    from lockwright.run import foreground
    from lockwright.speedup import measure, whole_runs

    if not asked.is_whole:
        foreground.ignore_termination()
        return measure.measure(command, asked)
    bounds = (max(_ROUNDS, request.runs), request.timeout)
    figure = whole_runs.Figure(given["metric"], given["lower_is_better"], *bounds)
    return whole_runs.measure(command, asked, figure)


def _changes(section: float | None, given: Mapping[str, Any], is_whole: bool) -> tuple[int, ...]:
    """Return by how many per cent sections are shorter, NO_WAITS and READERS if these are measured,
    and negative numbers of threads. Raises LockwrightError for these in whole runs."""
    from lockwright.base.errors import LockwrightError
    from lockwright.speedup.windows import NO_WAITS, READERS

    counts = given["counts"]
    if counts and is_whole:
        raise LockwrightError(
            "--threads is measured in one run, by the rate of a mutex",
            "leave out --metric and --progress end, or use 'lockwright compare'",
        )
    others = tuple(
        share for name, share in (("no_waiting", NO_WAITS), ("readers", READERS)) if given[name]
    )
    others += tuple(-count for count in counts)
    if section is not None:
        return (round(100 * (1 - section)), *others)
    return others or (*_SHARES, NO_WAITS)


def _is_whole(given: Mapping[str, Any]) -> bool:
    """Return whether progress is known at the end of a run only. Raises LockwrightError for options
    that exclude each other."""
    from lockwright.base.errors import LockwrightError
    from lockwright.compare.plan import check_pattern

    has_metric = given["metric"] is not None
    if has_metric:
        check_pattern(given["metric"])
    if (has_metric and given["progress"]) or (given["lower_is_better"] and not has_metric):
        raise LockwrightError(
            "progress is either --progress or --metric, which --lower-is-better needs",
            "give one of them",
        )
    return has_metric or given["progress"] == "end"


def _check_measurable(wanted: Mapping[str, Any], outputs: Mapping[str, Path | None]) -> None:
    """Raise LockwrightError for a change or an output that experiments do not have."""
    from lockwright.base import files
    from lockwright.base.errors import LockwrightError

    section = wanted["section"]
    changes = {name: value for name, value in wanted.items() if name != "section"}
    given = [name for name, value in changes.items() if value not in (None, False)]
    if given:
        raise LockwrightError(
            f"--{given[0]} is predicted only, not measured",
            "leave it out, or give a profile without --measure",
        )
    if section is not None and not 0 <= section <= 0.99:
        raise LockwrightError(
            f"sections cannot be measured {section:g} times as long",
            "give a --section from 0 to 0.99",
        )
    for option, path in outputs.items():
        if path == files.STANDARD_OUTPUT:
            raise LockwrightError(
                f"{option} - is the program's own standard output", "give the name of a file"
            )
