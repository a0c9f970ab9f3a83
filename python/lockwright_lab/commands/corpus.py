"""`lockwright corpus`: whether profile and advise find what maintainers have fixed."""

import shutil
from pathlib import Path

import click
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.run.process_runner import ProcessRunner

from lockwright_lab.commands.common.folders import CACHE
from lockwright_lab.commands.common.grammar import output_to_folder, shared
from lockwright_lab.corpus import report
from lockwright_lab.corpus.case import find
from lockwright_lab.corpus.experiment import experiment
from lockwright_lab.corpus.replay import Replay
from lockwright_lab.study.program.inputs import default_cache

_FOLDER = "lockwright-corpus"


@brief.command(
    "corpus",
    help="\n\n".join(
        [
            "Replay fixes of lock bottlenecks, and compare them with the advice.",
            "A case is a program before and after its maintainers removed a lock bottleneck. Both "
            "versions are installed from public registries, unless they are, and run in "
            "interleaved rounds. 'lockwright profile' and 'advise' get the older one only, and are "
            "compared with the fix. Nothing should be advised for a control, which has no "
            "bottleneck. Profiles of the folder are not made again.",
            definitions(report.COLUMNS, "Columns:"),
        ]
    ),
)
@shared(
    "--cases",
    "Cases by name, or files and folders of them.  [default: all of the laboratory]",
    default="",
)
@grammar.runs(5, of="each version", least=2)
@grammar.budget("none", "Begin no further round after this time.")
@click.option(
    "--drd",
    is_flag=True,
    help="Also run the older versions under Valgrind's DRD, for the lock that it names first.",
)
@CACHE
@output_to_folder("profiles and advice", default=_FOLDER)
@experiment_options
def command(
    request: Request,
    cases: str,
    runs: int,
    budget: float | None,
    drd: bool,
    cache: Path | None,
    output: Path | None,
) -> int:
    """Install what is missing, make the runs, and print the table."""
    chosen = find([word for word in cases.split(",") if word])
    if drd and shutil.which("valgrind") is None:
        raise LockwrightError("--drd needs Valgrind", "install it: apt-get install valgrind")
    replay = Replay(
        ProcessRunner(),
        (cache or default_cache()).absolute(),
        (output or Path(_FOLDER)).absolute(),
        asks_drd=drd,
    )
    return conduct(experiment(chosen, runs, budget, replay), request)
