"""`lockwright bench skeletons`: skeletons of applications, fitted to published throughputs."""

from pathlib import Path

import click
from lockwright.commands.common import grammar

from lockwright_lab.commands.common import skeletons as steps


@click.command("skeletons")
@steps.published_file()
@steps.machine("The machine of the published data")
@click.option(
    "--fit-locks",
    "fit_locks",
    metavar="A,B,...",
    help="Fit to these locks, at most four.  [default: pthread,ttas,mcs-spin,hmcs; those that park "
    "for applications without runs of these]",
)
@click.option("--apps", metavar="A,B,...", help="Applications.  [default: all of the data]")
@click.option(
    "--library",
    "library_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Use these simulations of the generic programs, or make them there.  "
    "[default: DIR/library.csv]",
)
@click.option(
    "--models",
    "models_folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Take the models DIR/APPLICATION.toml, which 'lockwright predict --model' wrote, instead "
    "of generic programs.",
)
@grammar.seed(1)
@grammar.timeout(600.0)
@grammar.output_to_folder("the skeletons", default="lockwright-skeletons")
@click.option("--resume", "resumes", is_flag=True, help="Make the simulations that are missing.")
def command(
    published: Path,
    machine_name: str,
    fit_locks: str | None,
    apps: str | None,
    library_file: Path | None,
    models_folder: Path | None,
    seed: int,
    timeout: float,
    output: Path | None,
    resumes: bool,
) -> int:
    """Fit skeletons of applications to the published throughputs of at most four locks.

    PUBLISHED is a CSV file of one machine, as 'lockwright study analyse' reads it, with numbers of
    NUMA nodes. A library of generic programs is simulated under the locks of the fit; each
    application gets that nearest to its throughputs, or the model of its profile. The throughputs
    under the other locks are estimated from other applications of the file. docs/predicting.md has
    the protocol.

    Example: lockwright bench skeletons A-64.csv --machine a-64 -o skeletons
    """
    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.base.files import write
    from lockwright.calibrate.machines import load_machine
    from lockwright.predict.skeletons import correction, files, fitting, generic, study
    from lockwright.predict.skeletons.published import read_library, read_published
    from lockwright.simulate.model import as_toml, load
    from lockwright.simulate.run import choose_locks
    from rich import box
    from rich.table import Table

    wanted = None if fit_locks is None else choose_locks(fit_locks)
    if wanted is not None and len(wanted) > 4:
        raise LockwrightError("--fit-locks names more than four locks", "name at most four")
    tables = applications = read_published(published)
    if apps is not None:
        names = [name.strip() for name in apps.split(",") if name.strip()]
        for name in names:
            if name not in applications:
                raise LockwrightError(
                    f"{published} has no application '{name}'",
                    f"choose from {', '.join(sorted(applications))}",
                )
        applications = {name: applications[name] for name in names}
    profiled = {}
    if models_folder is not None:
        paths = {name: models_folder / f"{name}.toml" for name in applications}
        profiled = {name: load(path) for name, path in paths.items() if path.exists()}
    of_fit = {name: fitting.locks_of_fit(name, data, wanted) for name, data in applications.items()}
    machine = load_machine(machine_name, timeout)
    folder = steps.made_folder(output or Path("lockwright-skeletons"))
    programs = generic.library()
    nodes = sorted({1, machine.nodes})
    locks = list(dict.fromkeys(lock for names in of_fit.values() for lock in names))
    planned = study.plan(programs, locks, study.places_by_nodes(machine, nodes), [seed], None)
    path = library_file or folder / "library.csv"
    if library_file is None or not library_file.exists() or resumes:
        status = steps.simulate_study(path, planned, timeout, resumes and path.exists())
        if status >= 128:
            return status
    library = fitting.Library(read_library(path))
    fits = [fitting.fit(name, data, library, of_fit[name]) for name, data in applications.items()]
    source = f"the published throughputs of {published.stem}"
    models = {
        each.application: fitting.skeleton(each, programs[each.choice.name][0], source)
        for each in fits
    }
    models |= {
        name: fitting.profiled_skeleton(name, model, of_fit[name], source)
        for name, model in profiled.items()
    }
    places = study.places_by_nodes(machine, [machine.nodes])
    known = steps.published_locks(tables)
    alone = {name: (model,) for name, model in models.items()}
    planned = study.plan(alone, known, places, [seed], None)
    path = folder / "skeletons.csv"
    status = steps.simulate_study(path, planned, timeout, resumes and path.exists())
    if status >= 128:
        return status
    frame = read_library(path)
    rates = correction.modelled(models, frame, machine.processors)
    for name in profiled:
        published_rates = applications[name].iloc[-1].to_dict()
        models[name] = correction.scaled(models[name], published_rates, rates[name], of_fit[name])
    rates = correction.modelled(models, frame, machine.processors)
    models = correction.corrected(models, tables, rates, machine.name)
    table = Table(
        title=f"Skeletons fitted to {published.stem}, simulated on {machine.name}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for heading in ("application", "generic program", "distance", "parallel"):
        table.add_column(heading)
    for each in fits:
        model = models[each.application]
        write(folder / files.file_name(each.application, 1), as_toml(model), "-o")
        if each.application in profiled:
            table.add_row(each.application, "from a profile", "", "")
            continue
        table.add_row(
            each.application,
            each.choice.name,
            f"{each.choice.distance**0.5:.2f}",
            f"{each.choice.operation.parallel_ns / 1e9:.3g} s",
        )
    terminal.output().print(table)
    return 0
