"""`lockwright predict`: the best lock of a profiled program, also on another machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.common import brief, grammar
from lockwright.commands.common.options import thread_counts
from lockwright.commands.common.prediction import shared_options

if TYPE_CHECKING:
    from lockwright.predict.prepare import Request


@brief.command("predict")
@grammar.locks("those that the simulator has")
@grammar.threads(words="that of the profile")
@shared_options()
@click.option(
    "--model",
    "model_file",
    type=grammar.FILE,
    metavar="FILE",
    callback=grammar.writable,
    help="Also write the program's model to FILE, for 'lockwright simulate --workload model:FILE'.",
)
@grammar.json_file("the prediction and the model")
@grammar.csv_file("the table")
@grammar.html_file()
def command(
    request: "Request",
    locks: str | None,
    threads: str | None,
    model_file: Path | None,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
) -> int:
    """Predict which lock is best for a profiled program on a machine.

    PROFILE is a file that 'lockwright profile -o' wrote. Its sections, the time between them and
    its threads become a model, which the simulator runs under each lock. Nothing is measured: each
    figure is the median over the models that agree with the profile, several seeds and the ends of
    the machine's ranges, and its range is over all of them. docs/predicting.md compares predictions
    with measurements.
    """
    from lockwright.base import files, terminal
    from lockwright.predict import of_locks
    from lockwright.simulate.model import as_toml
    from lockwright.simulate.run import choose_locks

    chosen = choose_locks(locks)
    counts = set(thread_counts(threads))
    header = request.header()
    if model_file is not None:
        files.write(model_file, as_toml(header.derived.model), "--model")
    predicted = of_locks.predict(request, header, chosen, sorted(counts))
    predicted.show(terminal.output())
    predicted.write(json_file, csv_file, html_file)
    return 1 if predicted.failures else 0
