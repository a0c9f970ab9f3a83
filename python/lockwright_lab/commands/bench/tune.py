"""`lockwright bench tune`: the lock that tune finds, compared with the best of all locks."""

from pathlib import Path

import click
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request

from lockwright_lab.bench import tuning
from lockwright_lab.bench.runs import processors
from lockwright_lab.commands.common import complete
from lockwright_lab.commands.common.grammar import shared

_SENSITIVE = "rocksdb-readrandom,perl-queue,node-pool,ruby-queue"
_INSENSITIVE = "xz,pbzip2,pigz"
_CROWD = 4
"""Threads for each processor for programs in which locks should matter."""


def _help() -> str:
    return "\n\n".join(
        [
            "Test whether 'lockwright tune' finds the same lock as comparing all locks, and how "
            "much sooner.",
            "Each program of the catalogue is first compared under all locks, then tuned; then the"
            " two locks found run alternately. A program takes about seven minutes.",
            "Programs that are not lock-sensitive are only tuned, with one thread for each"
            " processor: tune should report that within a minute.",
            definitions(tuning.AGAINST, "Columns:"),
            definitions(tuning.ALONE, "Columns of the second table:"),
        ]
    )


@brief.command("tune", help=_help())
@shared(
    "--programs",
    "Programs of 'lockwright study catalogue' that are one command.",
    default=_SENSITIVE,
    show_default=True,
    shell_complete=complete.programs,
)
@click.option(
    "--insensitive",
    default=_INSENSITIVE,
    show_default=True,
    metavar="A,B,...",
    shell_complete=complete.programs,
    help="Further programs, which are only tuned.",
)
@grammar.seconds(
    0.6,
    least=0.01,
    note="The work is chosen by the time that the catalogue states, and is never increased.",
)
@grammar.runs(3, note="Runs of compare.")
@grammar.timeout(3.0)
@grammar.budget(
    "a fifth of compare's; tune's for programs that are only tuned", "Time for tune, as in 90s."
)
@grammar.integer(
    "--pairs",
    200,
    "Run the two locks alternately at most N times; it ends once it is shown whether they are"
    " within 5 %.",
    least=3,
)
@click.option(
    "--replay",
    type=grammar.FILE,
    metavar="RUNS.csv",
    help="Replay the recorded runs of a machine to searches instead: a line for each run, with the"
    " columns of 'lockwright study analyse'. --json has the shares and the losses, --html a plot.",
)
@click.option(
    "--prior",
    "prior_files",
    multiple=True,
    metavar="RUNS.csv,...",
    help="Learn the prior from these recorded runs; may be repeated.  [default: the published"
    " study]",
)
@shared("--seeds", "Seeds of a replay.", default=200, show_default=True)
@click.option(
    "--write-prior",
    type=grammar.FILE,
    metavar="FILE",
    callback=grammar.writable,
    help="Write what is learnt from the files of --prior as a table for"
    " 'lockwright tune --prior-table'.",
)
@experiment_options
def command(
    request: Request,
    programs: str,
    insensitive: str,
    seconds: float,
    runs: int,
    timeout: float,
    budget: float | None,
    pairs: int,
    replay: Path | None,
    prior_files: tuple[str, ...],
    seeds: int,
    write_prior: Path | None,
) -> int:
    """Measure, and print the tables."""
    if replay is not None or write_prior is not None:
        from lockwright_lab.bench.replay import conduct as replays

        learnt_from = [Path(name) for text in prior_files for name in text.split(",")]
        replays.conduct(request, replay, learnt_from, seeds, write_prior)
        return 0
    from lockwright_lab.commands.common.folders import folders
    from lockwright_lab.study.program import catalogue

    compared, alone = (
        [catalogue.find(word.strip()) for word in text.split(",") if word.strip()]
        for text in (programs, insensitive)
    )
    if not (compared or alone):
        raise LockwrightError("no program is named", "give --programs names with commas")
    settings = tuning.Settings(_CROWD * processors(), seconds, runs, timeout, budget, pairs)
    return conduct(tuning.tuning(compared, alone, settings, folders(None, None)), request)
