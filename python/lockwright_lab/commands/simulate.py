"""`lockwright simulate`: run locks on a machine that a file describes."""

from typing import Any

import click
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import experiment_options
from lockwright.commands.common.options import thread_counts
from lockwright.experiment.request import Request

from lockwright_lab.commands.common.grammar import class_template, shared


@brief.command("simulate")
@click.argument("header", required=False, metavar="[HEADER]")
@class_template
@grammar.machine("a-64")
@grammar.locks("all")
@grammar.rwlocks(
    "Reader-writer locks of the workload rwlock, separated by commas, or 'all'.  [default: all]"
)
@click.option(
    "--workload",
    default="single-lock",
    show_default=True,
    help="Workload of the threads; see --list. 'model:FILE' is the program of a model file.",
)
@shared("--set", "A parameter of the workload; repeatable.", "words")
@grammar.threads(words="as many as the machine has cores")
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
@shared("--list", "List the machines and the workloads, and run nothing.", "is_list")
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
    planned = plan.plan(plan.Request(**options, threads=thread_counts(threads)))
    if is_sensitivity:
        with planned.folder:
            plan.examine_sensitivity(planned)
        return 0
    return conduct(experiment(planned), request)
