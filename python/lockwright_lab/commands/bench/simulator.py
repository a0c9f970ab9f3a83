"""`lockwright bench simulator`: simulated ranks of the locks against those of this machine."""

import click
from lockwright.calibrate.machines import load_machine
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import name_list, thread_counts
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.run.bench_program import subjects
from lockwright.simulate.run import choose_locks

from lockwright_lab.bench.validation import agreement, simulator
from lockwright_lab.commands.bench.validation_options import cells_and_parts
from lockwright_lab.commands.common.grammar import shared, warm_up

PARTS = ("real", "simulated")


@brief.command(
    "simulator",
    help="\n\n".join(
        [
            "Compare simulated ranks of the locks with those of this machine.",
            "Every lock runs each workload on this machine, in interleaved rounds, and in the "
            "simulator with the file of 'lockwright calibrate --machine-file here'. The metric is "
            "that of docs/lab/validation.md. Ctrl-C ends it with the results so far.",
            definitions(simulator.COLUMNS, "Columns:"),
        ]
    ),
)
@grammar.locks("all", beside=" beside pthread")
@click.option(
    "--workloads",
    default=",".join(simulator.WORKLOADS),
    metavar="A,B,...",
    help="Workloads.  [default: all of both programs]",
)
@cells_and_parts(simulator.THREADS, PARTS)
@grammar.machine("here")
@grammar.runs(2, of="each lock in each cell", least=2)
@shared(
    "--seeds",
    "Simulate with the seeds 1 to N, and compare the medians over them.",
    default=1,
    show_default=True,
)
@grammar.seconds(0.05, of=" in each run, real and simulated")
@warm_up(0.01)
@grammar.timeout(3.0)
@experiment_options
def command(
    request: Request,
    locks: str | None,
    workloads: str,
    threads: str,
    machine_name: str,
    parts: str,
    budget: float | None,
    runs: int,
    seeds: int,
    seconds: float,
    warm_up: float,
    timeout: float,
) -> int:
    """Make the missing runs, and print the agreement."""
    wanted = set(name_list(parts, "--parts", PARTS))
    chosen = list(dict.fromkeys([agreement.BASELINE, *choose_locks(locks)]))
    counts = thread_counts(threads)
    names = name_list(workloads, "--workloads", simulator.WORKLOADS)
    cells = simulator.cells(names, counts)
    machine = load_machine(machine_name, 30.0)
    named = [each for each in subjects(",".join(chosen), None) if each.lock is not None]
    lengths = simulator.Lengths(seconds, warm_up, timeout, budget)
    experiment = simulator.validation(machine, cells, named, wanted, runs, seeds, lengths)
    return conduct(experiment, request)
