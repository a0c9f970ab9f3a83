"""`lockwright bench published`: a predicted study against the published runs of a machine."""

from pathlib import Path

import click
from lockwright.commands.common import grammar

from lockwright_lab.commands.common import skeletons as steps


@click.command("published")
@steps.published_file()
@steps.machine("The machine of the published data")
@steps.folder_of_skeletons()
@click.option(
    "--other",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Published runs of another machine, for comparison.",
)
@click.option(
    "--other-sets",
    is_flag=True,
    help="Also estimate from 20 other sets of four locks; for the machine of the skeletons.",
)
@grammar.locks("all of the published study")
@grammar.seed(1)
@grammar.timeout(600.0)
@grammar.json_file("the agreement")
@grammar.output_to_folder("the predicted study", default="lockwright-published")
@click.option("--resume", "resumes", is_flag=True, help="Make the simulations that are missing.")
def command(
    published: Path,
    machine_name: str,
    skeletons_folder: Path | None,
    other: Path | None,
    other_sets: bool,
    locks: str | None,
    seed: int,
    timeout: float,
    json_file: Path | None,
    output: Path | None,
    resumes: bool,
) -> int:
    """Compare predicted ranks of locks with published ones.

    PUBLISHED is a CSV file of the runs of one machine, as 'lockwright study analyse' reads it, with
    numbers of NUMA nodes. Its lock-sensitive applications that have a skeleton are simulated on the
    machine. The statistic is Kendall's tau-b over the locks that the skeletons were not fitted to;
    docs/predicting.md has the protocol.

    Example: lockwright bench published I-48.csv --machine i-48 --other A-64.csv -o i-48
    """
    import json
    from dataclasses import asdict

    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.base.files import write
    from lockwright.calibrate.machines import load_machine
    from lockwright.predict.skeletons import files, study
    from lockwright.predict.skeletons.published import read_library, read_sample

    from lockwright_lab.bench.validation import published as validation
    from lockwright_lab.bench.validation import published_tables as tables

    sample = read_sample(published)
    beside = None if other is None else read_sample(other)
    machine = load_machine(machine_name, timeout)
    skeletons = validation.wanted(sample, files.load(skeletons_folder or files.SHIPPED))
    if not skeletons:
        raise LockwrightError(
            f"no lock-sensitive application of {published} has a skeleton",
            "give the skeletons of its applications with --skeletons",
        )
    folder = steps.made_folder(output or Path("lockwright-published"))
    places = study.places_by_nodes(machine, [machine.nodes])
    planned = study.plan(skeletons, steps.locks_of_study(locks), places, [seed], None)
    path = folder / "predicted.csv"
    status = steps.simulate_study(path, planned, timeout, resumes)
    if status >= 128:
        return status
    predicted = read_library(path)
    found = validation.compare(
        sample.frame, predicted, skeletons, None if beside is None else beside.frame
    )
    sets = validation.other_sets(sample) if other_sets else []
    console = terminal.output()
    console.print(tables.agreement_table(found, f"{published.stem}, predicted on {machine.name}"))
    console.print(tables.class_table(found))
    for line in tables.sentences(found, sets):
        console.print(line, markup=False, soft_wrap=True)
    if json_file is not None:
        document = {
            "predicted": True,
            "published": str(published),
            "machine": machine.name,
            "medians": tables.medians(found),
            "other_sets": sets,
            "applications": [asdict(each) for each in found],
        }
        write(json_file, json.dumps(document, indent=1) + "\n", "--json")
    return status
