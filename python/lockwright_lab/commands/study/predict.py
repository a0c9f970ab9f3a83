"""`lockwright study predict`: a study of a machine that is not here, simulated from skeletons."""

from pathlib import Path

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.options import number_list

from lockwright_lab.commands.common import skeletons as steps


@click.command("predict")
@steps.machine("The machine")
@click.option("--apps", metavar="A,B,...", help="Applications.  [default: all with a skeleton]")
@grammar.locks("all of the published study")
@click.option(
    "--nodes",
    metavar="N,...",
    help="Numbers of NUMA nodes, with a thread for each core.  [default: 1 and all]",
)
@click.option("--threads", metavar="N,...", help="Numbers of threads on all nodes, instead.")
@steps.folder_of_skeletons()
@grammar.runs(1, of="each skeleton, with different seeds")
@grammar.seconds(None, least=0.000001, of=" of simulated time", note="[default: by the skeleton]")
@grammar.seed(1)
@grammar.timeout(600.0)
@grammar.output_to_file("the study as CSV", default="MACHINE-predicted.csv")
@click.option("--resume", "resumes", is_flag=True, help="Make the runs that FILE lacks.")
def command(
    machine_name: str,
    apps: str | None,
    locks: str | None,
    nodes: str | None,
    threads: str | None,
    skeletons_folder: Path | None,
    runs: int,
    seconds: float | None,
    seed: int,
    timeout: float,
    output: Path | None,
    resumes: bool,
) -> int:
    """Predict a study of many applications under many locks on a machine.

    The applications are those of the published study of 28 locks, as skeletons: models that the
    simulator runs. FILE has a line for each simulation, which 'lockwright study analyse' and
    'report' read; the machine is called predicted there. Nothing is measured: docs/predicting.md
    compares such ranks with the published ones.

    Example: lockwright study predict --machine i-48 --apps kyotocabinet -o i-48.csv
    """
    from lockwright.calibrate.machines import load_machine
    from lockwright.predict.skeletons import files, study

    if nodes is not None and threads is not None:
        raise click.UsageError("--nodes and --threads exclude each other")
    applications = None
    if apps is not None:
        applications = [name.strip() for name in apps.split(",") if name.strip()]
    skeletons = files.load(skeletons_folder or files.SHIPPED, applications)
    chosen = steps.locks_of_study(locks)
    machine = load_machine(machine_name, timeout)
    if threads is not None:
        counts = [int(count) for count in number_list(threads, "--threads", 1)]
        places = study.places_by_threads(machine, sorted(set(counts)))
    else:
        counts = [1, machine.nodes]
        if nodes is not None:
            counts = [int(count) for count in number_list(nodes, "--nodes", 1)]
        places = study.places_by_nodes(machine, sorted(set(counts)))
    seeds = [(seed + number) % 2**53 for number in range(runs)]
    planned = study.plan(skeletons, chosen, places, seeds, seconds)
    path = output or Path(f"{machine.name}-predicted.csv")
    return steps.simulate_study(path, planned, timeout, resumes)
