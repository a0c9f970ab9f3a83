"""`lockwright simulate`: run locks on a machine that a file describes."""

from typing import Any

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.experiment_options import experiment_options
from lockwright.commands.common.options import number_list
from lockwright.experiment.request import Request


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
@experiment_options
@click.option("--list", "is_list", is_flag=True, help="Show the machines and workloads, and end.")
def command(
    request: Request, threads: str | None, is_sensitivity: bool, is_list: bool, **options: Any
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
    from lockwright.experiment.conduct import conduct

    from lockwright_lab.simulate import plan
    from lockwright_lab.simulate.experiment import experiment

    if is_list:
        plan.show_list(terminal.output())
        return 0
    counts = [] if threads is None else [int(n) for n in number_list(threads, "--threads", 1)]
    planned = plan.plan(plan.Request(**options, threads=counts))
    if is_sensitivity:
        with planned.folder:
            plan.examine_sensitivity(planned)
        return 0
    return conduct(experiment(planned), request)
