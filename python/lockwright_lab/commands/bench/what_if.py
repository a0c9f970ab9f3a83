"""`lockwright bench what-if`: gains by experiments against those of changed programs."""

from pathlib import Path

import click
from lockwright.base.progress import print_line
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import name_list
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request

from lockwright_lab.bench.speedup import real_experiment, real_programs
from lockwright_lab.bench.speedup.experiment import COLUMNS, Lengths, experiment
from lockwright_lab.bench.speedup.subjects import LENGTHS, SHAPES, subjects
from lockwright_lab.commands.common.folders import CACHE
from lockwright_lab.commands.common.grammar import built_tests, output_to_folder, shared
from lockwright_lab.study.program.inputs import default_cache


@brief.command(
    "what-if",
    help="\n\n".join(
        [
            "Compare 'lockwright what-if --measure' with programs whose sections are shorter.",
            "Experiments are made on each program with 1 and 4 threads for each processor; then it "
            "runs with shorter sections and without, in interleaved rounds, until the interval of "
            "each gain is within 5 %.",
            "With --real, programs of other authors run before and after a change of an option "
            "that makes their sections shorter, by as much as profiles of both say.",
            definitions(COLUMNS, "Columns:"),
        ]
    ),
)
@shared(
    "--programs",
    "Programs of tests/speedup/sections.cpp.",
    default=",".join(SHAPES),
    show_default=True,
)
@click.option(
    "--lengths",
    default=",".join(f"{each:g}" for each in LENGTHS),
    show_default=True,
    metavar="A,B",
    help="Factors of all times of the programs.",
)
@click.option(
    "--real",
    is_flag=False,
    flag_value="all",
    metavar="A,B",
    help=f"Real programs instead, all or of these: {', '.join(real_programs.names())}.",
)
@built_tests
@grammar.runs(4, of="each form", least=2)
@shared("--most-runs", "Run a form at most N times.", default=12, show_default=True)
@grammar.seconds(1.0, of=" of a run")
@grammar.integer("--experiment-seconds", 12, "Seconds of the run with experiments.", least=4)
@CACHE
@output_to_folder("the profiles and the experiments' results", default="lockwright-what-if")
@experiment_options
def command(
    request: Request,
    programs: str,
    lengths: str,
    real: str | None,
    bottlenecks: Path,
    runs: int,
    most_runs: int,
    seconds: float,
    experiment_seconds: int,
    cache: Path | None,
    output: Path | None,
) -> int:
    """Make the experiments and the runs, and print the table."""
    folder = (output or Path("lockwright-what-if")).absolute()
    if real is not None:
        changes = real_programs.changes([] if real == "all" else real.split(","))
        of_real = real_experiment.Lengths(runs)
        print_line(f"{len(changes)} changes, about {of_real.minutes(len(changes)):.0f} minutes")
        place = (cache or default_cache()).absolute()
        return conduct(real_experiment.experiment(changes, of_real, place, folder), request)
    factors = [f"{each:g}" for each in LENGTHS]
    chosen = subjects(
        name_list(programs, "--programs", SHAPES),
        [float(each) for each in name_list(lengths, "--lengths", factors)],
        bottlenecks,
    )
    of_runs = Lengths(runs, most_runs, seconds, experiment_seconds)
    print_line(f"{len(chosen)} programs, about {of_runs.minutes(len(chosen)):.0f} minutes")
    return conduct(experiment(chosen, of_runs, folder), request)
