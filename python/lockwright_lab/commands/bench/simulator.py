"""`lockwright bench simulator`: simulated ranks of the locks against those of this machine."""

from pathlib import Path

import click
from lockwright.base import interrupts, invocation, terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import definitions
from lockwright.commands.common import grammar
from lockwright.commands.common.options import name_list, number_list

from lockwright_lab.bench.validation import agreement, measure, speed, store, tables
from lockwright_lab.bench.validation.cells import THREADS, Rate, Rates, cells, chosen_workloads
from lockwright_lab.commands.bench.validation_options import cells_and_parts

PARTS = ("real", "simulated", "speed")


@click.command(
    "simulator",
    help="\n\n".join(
        [
            "Compare simulated ranks of the locks with those of this machine.",
            "Every lock runs each workload on this machine, in interleaved rounds, and in the "
            "simulator with the machine file of 'lockwright calibrate --machine here'. The metric "
            "is that of docs/lab/validation.md. It also prints the simulator's run time. Ctrl-C "
            "ends it with the results so far.",
            definitions(tables.COLUMNS, "Columns by cell:"),
            definitions(tables.BY_WORKLOAD, "Columns by workload:"),
        ]
    ),
)
@grammar.locks("all", beside=" beside pthread")
@click.option("--workloads", metavar="A,B,...", help="Workloads.  [default: all of both programs]")
@cells_and_parts(THREADS, PARTS, rest="--resume")
@click.option(
    "--machine",
    "machine_name",
    default="here",
    show_default=True,
    metavar="NAME|FILE",
    help="The machine file that the simulator uses.",
)
@grammar.runs(2, of="each lock in each cell", least=2)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Simulate with the seeds 1 to N, and compare the medians over them.",
)
@grammar.seconds(0.05, of=" in each run, real and simulated")
@grammar.warm_up(0.01)
@grammar.timeout(3.0)
@grammar.output_to_folder("every run", default="lockwright-simulator")
@click.option("--resume", "resumes", is_flag=True, help="Resume the validation in DIR.")
@click.pass_context
def command(
    ctx: click.Context,
    locks: str | None,
    workloads: str | None,
    threads: str,
    machine_name: str,
    parts: str,
    minutes: float | None,
    worst: int,
    runs: int,
    seeds: int,
    seconds: float,
    warm_up: float,
    timeout: float,
    output: Path | None,
    resumes: bool,
) -> None:
    """Make the missing runs, and print the agreement."""
    from lockwright.calibrate.machines import load_machine
    from lockwright.machine import provenance
    from lockwright.run import resume
    from lockwright.run.bench_program import loops_per_us, subjects
    from lockwright.simulate.run import choose_locks

    wanted = name_list(parts, "--parts", PARTS)
    chosen = list(dict.fromkeys([agreement.BASELINE, *choose_locks(locks)]))
    counts = [int(count) for count in number_list(threads, "--threads", 1)]
    chosen_cells = cells(chosen_workloads(workloads), counts)
    machine = load_machine(machine_name, 30.0)
    directory = output or Path("lockwright-simulator")
    rates = Rates()
    stored_lengths = {"seconds": seconds, "warm_up": warm_up, "timeout": timeout}
    if resumes:
        settings, rates = store.load(directory)
        advice = "begin a validation in another directory"
        resume.check_facts(settings["facts"], provenance.machine(), "the validation", advice)
        for name, value in stored_lengths.items():
            if settings[name] != value:
                raise LockwrightError(
                    f"the validation has --{name.replace('_', '-')} {settings[name]:g}",
                    f"give the same, or {advice}",
                )
    elif wanted != ["speed"]:
        settings = {**stored_lengths, "loops_per_us": loops_per_us(), "facts": provenance.machine()}
        store.begin(directory, settings)
    else:
        settings = {"loops_per_us": 0.0}
    if resumes or wanted != ["speed"]:
        store.log(directory).adopt()
    lengths = measure.RunLengths(seconds, warm_up, settings["loops_per_us"], timeout, minutes)

    def add(run: Rate) -> None:
        rates.add(run)
        store.add(directory, run)

    speeds: list[speed.Speed] = []
    stopped = None
    is_complete = True
    try:
        with interrupts.stop_on_signals():
            if "real" in wanted:
                named = [each for each in subjects(",".join(chosen), None) if each.lock is not None]
                is_complete = measure.measure_real(chosen_cells, named, runs, lengths, rates, add)
            if "simulated" in wanted:
                measure.simulate(machine, chosen_cells, chosen, seeds, lengths, rates, add)
            if "speed" in wanted:
                speeds = speed.measure(600.0)
    except interrupts.Stopped as signal:
        stopped = signal
    found = agreement.agreement(rates, chosen_cells, chosen, seeds)
    repeated = agreement.repeatability(rates, chosen_cells, chosen)
    console = terminal.output()
    if found.cells:
        console.print(tables.cells_table(found, repeated))
        console.print(tables.workloads_table(found, repeated))
        if worst:
            console.print(tables.worst_table(found, worst))
    lines = tables.sentences(found, repeated) if rates.runs else []
    for source in (measure.REAL, measure.SIMULATED):
        failures = rates.failures(source)
        if failures:
            names = ", ".join(dict.fromkeys(f"{run.lock} {run.cell.name}" for run in failures))
            lines.append(f"{len(failures)} {source} runs failed and do not count: {names}")
    lines += [each.text for each in speeds]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    if stopped is not None or not is_complete:
        words = [*invocation.command_words(), "bench", "simulator", "--resume", "-o"]
        console.print(
            f"Resume it with the same options: {' '.join(words)} {directory}",
            markup=False,
            soft_wrap=True,
        )
    if stopped is not None:
        ctx.exit(stopped.status)
