"""`lockwright bench predict`: predicted locks and changes against those measured here."""

import time
from pathlib import Path

import click
from lockwright.base import interrupts, terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import definitions, progress
from lockwright.commands.common import grammar
from lockwright.commands.common.options import name_list, number_list
from lockwright.simulate.figures import BASELINE

from lockwright_lab.bench.predictions import subjects as kinds
from lockwright_lab.bench.predictions import tables
from lockwright_lab.commands.bench.validation_options import cells_and_parts

_ROUNDS_OF_CHANGES = 2
"""Rounds of the changes for each run of a lock: they are few, and a tenth is to be shown."""

_SIMULATION = 600.0
"""Limit of a simulation in seconds: a guard only, for it is never measured."""

PARTS = ("profiles", "predictions", "changes", "runs")


@click.command(
    "predict",
    help="\n\n".join(
        [
            "Compare 'lockwright predict' and 'what-if' with runs on this machine.",
            "Programs are profiled with 2 threads under pthread. Their throughput under other "
            "locks, with other numbers of threads, and after changes that are options of theirs is "
            "predicted, and only then measured, in interleaved rounds. The metric is that of "
            "docs/lab/validation.md. Each run is stored at once, so a call with the same folder "
            "resumes.",
            definitions([*tables.CELLS, *tables.CHANGES], "Columns:"),
        ]
    ),
)
@click.option(
    "--programs",
    default=",".join(kinds.PROGRAMS),
    metavar="A,B,...",
    help="Programs of the catalogue.  [default: those that take mutexes and need no server]",
)
@grammar.locks(", ".join(kinds.LOCKS))
@cells_and_parts(kinds.THREADS, PARTS, rest="the next call")
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
@grammar.output_to_folder("every run", default="lockwright-predict")
@click.pass_context
def command(
    ctx: click.Context,
    programs: str,
    locks: str | None,
    threads: str,
    parts: str,
    minutes: float | None,
    worst: int,
    draw: int | None,
    seed: int,
    runs: int,
    seconds: float,
    timeout: float,
    output: Path | None,
) -> None:
    """Make the missing runs and the predictions, and print the agreement."""
    from lockwright.calibrate.machines import HERE, load_machine
    from lockwright.preload.locks import registry
    from lockwright.simulate.run import Cell, choose_locks

    from lockwright_lab.bench.predictions import agreement, measure, predicted
    from lockwright_lab.bench.predictions.store import Settings, Store
    from lockwright_lab.commands.common.folders import folders

    wanted = name_list(parts, "--parts", PARTS)
    names = name_list(programs, "--programs", kinds.PROGRAMS)
    chosen = choose_locks(",".join(kinds.LOCKS) if locks is None else locks)
    chosen = list(dict.fromkeys([BASELINE, *chosen]))
    counts = [int(count) for count in number_list(threads, "--threads", 1)]
    store = Store(output or Path("lockwright-predict"))
    made = store.begin(Settings(seconds, timeout))
    cells = [kinds.catalogue_subject(name, count, seconds) for count in counts for name in names]
    of_cells = [(each, kinds.drawn(each, chosen, draw or len(chosen), seed)) for each in cells]
    cases = kinds.cases(names, seconds)
    profiled = {
        name: kinds.catalogue_subject(name, kinds.PROFILED_THREADS, seconds) for name in names
    }
    profiled |= {case.before.name: case.before for case in cases}
    of_changes = {
        (each.name, each.threads): (each, [BASELINE])
        for case in cases
        for each in (case.before, case.after)
        # The others are among the cells.
        if case.before.name not in names
    }
    known, places = registry(), folders(None, None)
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    limits = measure.Limits(timeout, ends)
    lines: list[str] = []
    stopped = None
    is_complete = True
    try:
        with interrupts.stop_on_signals():
            if "profiles" in wanted:
                lines += measure.profile(list(profiled.values()), places, store)
            has_profile = {name for name in profiled if store.profile(name).exists()}
            if "predictions" in wanted:
                machine = load_machine(HERE, 30.0)
                with progress("predictions: simulations", len(profiled)) as steps:
                    # Those with the fewest simulations first.
                    for name, subject in reversed(profiled.items()):
                        steps.step(name)
                        if name not in has_profile:
                            continue
                        simulated = [
                            Cell(lock, each.threads)
                            for each, locks_of in of_cells
                            if each.name == name
                            for lock in locks_of
                        ]
                        of_subject = [case for case in cases if case.before.name == name]
                        if store.has_predictions(name, simulated, of_subject):
                            continue
                        try:
                            predictions = predicted.predict(
                                subject, store, machine, simulated, of_subject, _SIMULATION
                            )
                        except LockwrightError as error:
                            lines.append(f"{name}: {error.what}")
                            continue
                        store.add_predictions(name, *predictions, is_blind=not made.has(name))
            if "changes" in wanted:
                some = list(of_changes.values())
                is_complete &= measure.measure(
                    some, _ROUNDS_OF_CHANGES * runs, limits, known, places, made, store
                )
            if "runs" in wanted:
                # Not those that cannot be predicted, where that is known.
                names_of = store.predicted() or has_profile
                some = [each for each in of_cells if each[0].name in names_of]
                is_complete &= measure.measure(some, runs, limits, known, places, made, store)
    except interrupts.Stopped as signal:
        stopped = signal
    console = terminal.output()
    rates, gains = store.predictions()
    if rates or gains:
        found = [
            each
            for subject, locks_of in of_cells
            if (each := agreement.cell(subject, locks_of, made, rates))
        ]
        changed = [one for case in cases if (one := agreement.changed(case, made, gains))]
        if found:
            console.print(tables.cells_table(found))
            if worst:
                console.print(tables.worst_table(found, worst))
        if changed:
            console.print(tables.changes_table(changed))
        lines += tables.sentences(found, changed)
        late = store.not_blind()
        lines.append(
            f"Predicted after a run of theirs: {', '.join(late)}."
            if late
            else "Every program was predicted before the first of its runs."
        )
    failures = [f"{run.lock} {run.subject}/{run.threads}" for run in made.failures()]
    if failures:
        lines.append(f"{len(failures)} runs failed and do not count: {', '.join(failures[:20])}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    if stopped is not None or not is_complete:
        console.print(f"Resume it with the same options and -o {store.folder}.", soft_wrap=True)
    if stopped is not None:
        ctx.exit(stopped.status)
