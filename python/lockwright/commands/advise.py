"""`lockwright advise`: the bottleneck in a profile, and the locks to try."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.common import brief, grammar

if TYPE_CHECKING:
    from lockwright.advise import Advice
    from lockwright.profile.record import Profile


@brief.command("advise")
@click.argument("profile", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--top",
    "size",
    type=click.IntRange(min=1, max=99),
    help="Name at most N locks.  [default: 3; with --all and --json 5]",
    metavar="N",
)
@grammar.shared(
    "--all", "Print all bottlenecks, questions, locks and changes, each with its figures.", "every"
)
@click.option(
    "--predict/--no-predict",
    "predicts",
    default=True,
    show_default=True,
    help="Simulate locks and changes, in some seconds, and name those that gain.",
)
@click.option(
    "--experiments",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also name the gains that 'lockwright what-if --measure --json FILE' has measured.",
)
@grammar.json_file("the advice")
def command(
    profile: Path,
    size: int | None,
    every: bool,
    predicts: bool,
    experiments: Path | None,
    json_file: Path | None,
) -> None:
    """Name the bottleneck, the locks to try, and what to change in the program.

    PROFILE is a file that 'lockwright profile -o' wrote. It is compared with the nine bottlenecks
    of the papers on locks. The locks to try are those that gain in simulations of the program on
    this machine. Printed are the verdict, the figures that decided, the locks to try and the
    changes, those with the largest predicted gain first; --all prints the rest. The program is not
    run: 'lockwright compare' with these locks measures their effect, and 'lockwright tune' does all
    of it; 'lockwright what-if' predicts other changes.
    """
    from lockwright.base import files
    from lockwright.profile import record

    recorded = record.read(profile)
    advice = _advice(recorded, size, predicts, experiments)
    if json_file is not None:
        files.write(json_file, advice.to_json() + "\n", "--json")
    if json_file != files.STANDARD_OUTPUT:
        _show(recorded, advice, every, profile, size)


def _advice(
    recorded: "Profile", size: int | None, predicts: bool, experiments: Path | None
) -> "Advice":
    """Return the advice. experiments: the file of measured gains."""
    from lockwright.advise import advise
    from lockwright.advise.measured import with_measured

    if predicts:
        from lockwright.predict.advised import advise_here

        advice = advise_here(recorded, size)
    else:
        advice = advise(recorded, size=size)
    return advice if experiments is None else with_measured(advice, recorded, experiments)


def _show(
    recorded: "Profile", advice: "Advice", every: bool, profile: Path, size: int | None
) -> None:
    from lockwright.advise import brief, show
    from lockwright.base.terminal import output

    if every:
        show.show(output(), recorded, advice)
    else:
        brief.show(output(), recorded, advice, profile, size)
