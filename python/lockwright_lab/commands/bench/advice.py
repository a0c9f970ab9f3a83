"""`lockwright bench advice`: whether the locks that `advise` names harm."""

from pathlib import Path

import click
from lockwright.base.progress import print_line
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import name_list
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request

from lockwright_lab.bench.advice import report, subjects
from lockwright_lab.bench.advice.experiment import Lengths, experiment
from lockwright_lab.commands.common.folders import folders
from lockwright_lab.commands.common.grammar import built_tests, output_to_folder, shared

_LOADS = (subjects.QUIET, subjects.BUSY)


@brief.command(
    "advice",
    help="\n\n".join(
        [
            "Test whether the locks that 'lockwright advise' names harm.",
            "Each program is profiled with 1 and 4 threads for each processor, alone and with a "
            "program on each processor that never sleeps. In the same conditions the first two "
            "locks that advise names for that profile run beside pthread, the first one of the "
            "former rules, and others, in interleaved rounds. Where the interval leaves open "
            "whether the first one harms, further rounds follow. Profiles of the folder are not "
            "made again.",
            definitions(report.COLUMNS, "Columns:"),
        ]
    ),
)
@shared(
    "--programs",
    "Programs: the cache server, those of tests/bottlenecks and of the half-hour study.  "
    "[default: all]",
    default=",".join(subjects.NAMES),
)
@built_tests
@click.option(
    "--loads",
    default=",".join(_LOADS),
    show_default=True,
    metavar="A,B",
    help="What runs beside the programs.",
)
@grammar.runs(3, of="each lock", least=2)
@shared(
    "--most-runs",
    "Run a lock at most N times, where it is open if it harms.",
    default=12,
    show_default=True,
)
@grammar.seconds(
    0.5, of=" of a run under pthread, about; those of tests/bottlenecks have their own"
)
@grammar.timeout(3.0)
@output_to_folder("the profiles and the advice", default="lockwright-advice")
@experiment_options
def command(
    request: Request,
    programs: str,
    bottlenecks: Path,
    loads: str,
    runs: int,
    most_runs: int,
    seconds: float,
    timeout: float,
    output: Path | None,
) -> int:
    """Make the missing profiles and runs, and print the table."""
    names = name_list(programs, "--programs", subjects.NAMES)
    chosen = name_list(loads, "--loads", _LOADS)
    cells, left_out = subjects.conditions(names, bottlenecks, chosen, seconds)
    lengths = Lengths(runs, most_runs, seconds, timeout)
    print_line(f"{len(cells)} cells, about {lengths.minutes(len(cells)):.0f} minutes")
    folder = output or Path("lockwright-advice")
    places = folders(None, None)
    return conduct(experiment(cells, left_out, lengths, folder, places), request)
