"""`lockwright bench predict`: predicted locks and changes against those measured here."""

from collections.abc import Sequence
from pathlib import Path

import click
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import name_list, thread_counts
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.run import choose_locks

from lockwright_lab.bench.validation import predictions
from lockwright_lab.bench.validation import subjects as kinds
from lockwright_lab.bench.validation.first import Folder
from lockwright_lab.bench.validation.predictions import Plan
from lockwright_lab.commands.bench.validation_options import cells_and_parts
from lockwright_lab.commands.common import complete
from lockwright_lab.commands.common.folders import folders
from lockwright_lab.commands.common.grammar import output_to_folder, shared

PARTS = (predictions.CHANGES, predictions.RUNS)


@brief.command(
    "predict",
    help="\n\n".join(
        [
            "Compare 'lockwright predict' and 'what-if' with runs on this machine.",
            "Programs are profiled with 2 threads under pthread. Their throughput under other "
            "locks, with other numbers of threads, and after changes that are options of theirs is "
            "predicted, and only then measured, in interleaved rounds. The metric is that of "
            "docs/lab/validation.md. Profiles and predictions of the folder are not made again.",
            definitions([*predictions.CELLS, *predictions.CHANGED], "Columns:"),
        ]
    ),
)
@shared(
    "--programs",
    "Programs of the catalogue.  [default: those that take mutexes and need no server]",
    default=",".join(kinds.PROGRAMS),
    shell_complete=complete.programs,
)
@grammar.locks(", ".join(kinds.LOCKS))
@cells_and_parts(kinds.THREADS, PARTS)
@click.option(
    "--draw",
    type=click.IntRange(min=1),
    metavar="N",
    help="Take N locks beside pthread for each program and number of threads, drawn with --seed.  "
    "[default: all]",
)
@grammar.seed(1)
@grammar.runs(3, of="each lock", least=2)
@grammar.seconds(0.25, of=" of a run under pthread, about")
@grammar.timeout(1.0)
@output_to_folder("the profiles and predictions", default="lockwright-predict")
@experiment_options
def command(
    request: Request,
    programs: str,
    locks: str | None,
    threads: str,
    parts: str,
    budget: float | None,
    draw: int | None,
    seed: int,
    runs: int,
    seconds: float,
    timeout: float,
    output: Path | None,
) -> int:
    """Make the missing runs and the predictions, and print the agreement."""
    wanted = name_list(parts, "--parts", PARTS)
    names = name_list(programs, "--programs", kinds.PROGRAMS)
    chosen = choose_locks(",".join(kinds.LOCKS) if locks is None else locks)
    chosen = list(dict.fromkeys([BASELINE, *chosen]))
    counts = thread_counts(threads)
    plan = _plan(names, chosen, counts, seconds, draw or len(chosen), seed)
    folder = Folder(output or Path("lockwright-predict"), folders(None, None))
    lengths = predictions.Lengths(runs, seconds, timeout, budget)
    return conduct(predictions.validation(plan, folder, wanted, lengths), request)


def _plan(
    names: Sequence[str],
    locks: Sequence[str],
    counts: Sequence[int],
    seconds: float,
    draw: int,
    seed: int,
) -> Plan:
    """Return what is predicted and measured. draw: number of the locks beside pthread."""
    subjects = [kinds.catalogue_subject(name, count, seconds) for count in counts for name in names]
    cases = kinds.cases(names, seconds)
    profiled = {
        name: kinds.catalogue_subject(name, kinds.PROFILED_THREADS, seconds) for name in names
    }
    profiled |= {case.before.name: case.before for case in cases}
    drawn = [kinds.drawn(each, locks, draw, seed) for each in subjects]
    return Plan(subjects, drawn, cases, profiled)
