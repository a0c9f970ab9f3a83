"""`lockwright simulate`: run locks on a machine that a file describes."""

from pathlib import Path
from typing import Any

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.options import number_list


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
    threads: str | None,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    is_sensitivity: bool,
    is_list: bool,
    **options: Any,
) -> int:
    """Run locks on a simulated machine and rank them.

    The locks' code runs there unchanged; a file describes the processors, caches, scheduler and
    idle states. HEADER is a file with a lock of your own, ranked among the others. The workload
    rwlock runs reader-writer locks.

    Every simulation checks mutual exclusion and that every sleeper is woken; a lock that fails is
    reported, and the status is 1. No figure is measured: docs/lab/simulation.md gives the sources
    of the machines' figures and the validation of the ranks.
    """
    from lockwright.base import terminal

    from lockwright_lab.simulate import session

    console = terminal.output()
    if is_list:
        session.show_list(console)
        return 0
    counts = [] if threads is None else [int(n) for n in number_list(threads, "--threads", 1)]
    planned = session.plan(session.Request(**options, threads=counts))
    with planned.folder:
        if is_sensitivity:
            session.examine_sensitivity(planned)
            return 0
        simulated = session.carry_out(planned)
    session.show(simulated, console)
    session.write_files(simulated, {"--json": json_file, "--csv": csv_file, "--html": html_file})
    return session.conclude(simulated)
