"""`lockwright simulate`: run locks on a machine that a file describes."""

import sys
from pathlib import Path

import click
from lockwright.calibrate.machines import load_machine
from lockwright.commands.common import grammar
from lockwright.commands.common.options import number_list
from lockwright.simulate.progress import simulations

_MODEL = "model:"
"""Prefix of a workload that is the model of a program."""


@click.command("simulate")
@click.argument("header", required=False, metavar="[HEADER]")
@click.option(
    "--type",
    "type_",
    metavar="NAME",
    help="Class template in the header, as NAME or NAME<Env, ...>.  [default: named as the file]",
)
@click.option(
    "--machine",
    "machine_name",
    default="a-64",
    show_default=True,
    metavar="NAME|FILE",
    help="The machine: one that --list shows, a TOML file, or 'here' for this one, which is "
    "measured at the first use.",
)
@grammar.locks("all")
@click.option(
    "--rwlocks",
    metavar="A,B,...",
    help="Reader-writer locks of the workload rwlock, separated by commas, or 'all'.  "
    "[default: all]",
)
@click.option(
    "--workload",
    default="single-lock",
    show_default=True,
    help="Workload of the threads; see --list. 'model:FILE' is the program of a model file.",
)
@click.option(
    "--set",
    "words",
    multiple=True,
    metavar="NAME=N",
    help="A parameter of the workload; may be repeated.",
)
@click.option(
    "--threads",
    metavar="N,...",
    help="Numbers of threads.  [default: as many as the machine has cores]",
)
@grammar.seconds(
    0.01, least=0.000001, of=" of simulated time", note="A tenth of it is run before that."
)
@grammar.seed(1)
@grammar.timeout(600.0)
@grammar.json_file("everything, with the machine,")
@grammar.csv_file("the table")
@grammar.html_file("the table and the machine")
@click.option(
    "--trace",
    "trace_file",
    type=grammar.FILE,
    metavar="FILE",
    callback=grammar.writable,
    help="Write a timeline of one lock with one number of threads to FILE, for Perfetto.",
)
@click.option(
    "--sensitivity",
    "is_sensitivity",
    is_flag=True,
    help="Halve and double each figure of the machine, and show its effect on the ranking.",
)
@click.option("--list", "is_list", is_flag=True, help="Show the machines and workloads, and end.")
def command(
    header: str | None,
    type_: str | None,
    machine_name: str,
    locks: str | None,
    rwlocks: str | None,
    workload: str,
    words: tuple[str, ...],
    threads: str | None,
    seconds: float,
    seed: int,
    timeout: float,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    trace_file: Path | None,
    is_sensitivity: bool,
    is_list: bool,
) -> int:
    """Run locks on a simulated machine and rank them.

    The locks' code runs there unchanged; a file describes the processors, caches, scheduler and
    idle states. HEADER is a file with a lock of your own, ranked among the others. The workload
    rwlock runs reader-writer locks.

    Every simulation checks mutual exclusion and that every sleeper is woken; a lock that fails is
    reported, and the status is 1. No figure is measured: docs/lab/simulation.md gives the sources
    of the machines' figures and the validation of the ranks.
    """
    import tempfile

    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.base.files import write
    from lockwright.simulate import figures
    from lockwright.simulate import model as models
    from lockwright.simulate import run as runs

    from lockwright_lab.simulate import open_pairs, page, report, sensitivity
    from lockwright_lab.simulate.own_lock import compiled

    if is_list:
        return _list()
    machine = load_machine(machine_name, timeout)
    model = None
    if workload.startswith(_MODEL):
        model = models.load(Path(workload.removeprefix(_MODEL)))
        workload = runs.MODEL
    elif workload == runs.MODEL:
        raise LockwrightError(
            "the workload 'model' needs the file of a program", "give --workload model:FILE"
        )
    parameters = runs.choose_workload(workload, words)
    chosen = runs.choose_for_workload(workload, locks, rwlocks)
    of_rwlocks = runs.catalogue().workloads[workload].of_rwlocks
    if threads is None:
        counts = [machine.processors // int(machine.figures["shape.threads_per_core"])]
    else:
        counts = [int(count) for count in number_list(threads, "--threads", 1)]
    if trace_file is not None and (len(chosen), len(counts), header) != (1, 1, None):
        raise LockwrightError(
            "--trace shows one lock of the list with one number of threads",
            f"give one with --{'rw' * of_rwlocks}locks and one with --threads, and no header",
        )
    console = terminal.output()
    with tempfile.TemporaryDirectory(prefix="lockwright-") as folder:
        own_lock = None
        if header is not None:
            own_lock = compiled(Path(header), type_, Path(folder), of_rwlocks)
        setup = runs.Setup(
            machine,
            workload,
            parameters,
            seconds,
            seed % 2**53,
            own_lock,
            trace_file,
            of_rwlocks,
            model,
        )
        names = [*([own_lock.name] if own_lock is not None else []), *chosen]
        cells = [runs.Cell(name, count) for count in counts for name in dict.fromkeys(names)]
        if is_sensitivity:
            if len(counts) != 1:
                raise LockwrightError(
                    "--sensitivity needs one number of threads", "give one with --threads"
                )
            rounds = 1 + len(sensitivity.FACTORS) * len(sensitivity.varied(setup))
            with simulations(rounds * len(cells)) as advance:
                effects = sensitivity.examine(
                    setup, cells, timeout, lambda cell: advance(cell.text)
                )
            console.print(sensitivity.table(setup, effects))
            return 0
        stopped = False
        results = None
        at_ends: dict[str, runs.Results] = {}
        ends = len(machine.range_ends())
        try:
            with simulations((1 + ends) * len(cells)) as advance:
                results = runs.run(setup, cells, timeout, lambda cell: advance(cell.text))
                open_pairs.simulate_ends(
                    setup, cells, timeout, lambda cell: advance(cell.text), at_ends
                )
        except runs.Interrupted as interrupt:
            cause = interrupt.__cause__
            if isinstance(cause, LockwrightError) or not isinstance(cause, KeyboardInterrupt):
                raise cause or interrupt from None
            results, stopped = results or interrupt.results, True
    rows = report.table_rows(results)
    for count in dict.fromkeys(counts):
        if any(row["threads"] == count for row in rows):
            console.print(report.table(setup, rows, count))
    if rows:
        legend = [(column.heading, column.meaning) for column in figures.columns(setup).values()]
        terminal.print_terms(console, legend)
    pairs = open_pairs.open_pairs(results, at_ends)
    if at_ends:
        for line in open_pairs.summary(pairs, ends):
            console.print(line, markup=False, soft_wrap=True)
    failures = [
        f"{cell.lock} with {cell.threads} threads{where}: {what}"
        for where, ended in [
            ("", results),
            *((f" and {label}", at_end) for label, at_end in at_ends.items()),
        ]
        for cell, what in ended.failures.items()
    ]
    for text in failures:
        console.print(f"FAILED: {text}", style="bold red", soft_wrap=True)
    if json_file is not None:
        write(json_file, report.as_json(setup, results, rows, not stopped, pairs), "--json")
    if csv_file is not None:
        write(csv_file, report.as_csv(setup, rows), "--csv")
    if html_file is not None:
        write(html_file, page.as_page(setup, results, rows, failures, pairs), "--html")
    if stopped:
        simulated = sum(len(ended.lines) for ended in (results, *at_ends.values()))
        click.echo(f"Stopped after {simulated} of {(1 + ends) * len(cells)} simulations.")
        return 130
    sys.stdout.flush()
    return 1 if failures else 0


def _list() -> int:
    from lockwright.base import terminal
    from lockwright.simulate import machine as machines
    from lockwright.simulate import run as runs

    console = terminal.output()
    console.print("Machines:", style="bold")
    titles = [(name, machines.load(name).title) for name in machines.built_in_names()]
    terminal.print_terms(console, titles)
    console.print("Workloads, with their parameters:", style="bold")
    terms = []
    for workload in runs.catalogue().workloads.values():
        parameters = " ".join(f"{name}={value:g}" for name, value in workload.parameters.items())
        terms.append((workload.name, f"{workload.measures}. {parameters}"))
    terminal.print_terms(console, terms)
    return 0
