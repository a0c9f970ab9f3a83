"""`lockwright advise`: the bottleneck in a profile, and the locks to try."""

from pathlib import Path

import click

from lockwright.commands.common import grammar


@click.command("advise", cls=grammar.JsonFlagCommand)
@click.argument("profile", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--top",
    "size",
    type=click.IntRange(min=1, max=99),
    default=5,
    show_default=True,
    help="Name at most N locks.",
    metavar="N",
)
@click.option("--all", "every", is_flag=True, help="Also print the evidence that was not decisive.")
@grammar.json_file("the advice", was_flag=True)
def command(profile: Path, size: int, every: bool, json_file: Path | None) -> None:
    """Name the bottleneck, the locks to try, and what to change in the program.

    PROFILE is a file that 'lockwright profile -o' wrote. It is compared with the nine bottlenecks
    of the papers on locks; each that applies is printed with the decisive figures. Six questions
    then narrow down the locks, and the remaining ones are ranked. Nothing is run: 'lockwright
    compare' with these locks measures their effect, and 'lockwright tune' does all of it.
    """
    from lockwright.advise import advise
    from lockwright.advise.show import show
    from lockwright.base import files
    from lockwright.base.terminal import output
    from lockwright.profile import record

    recorded = record.read(profile)
    advice = advise(recorded, size=size)
    if json_file is not None:
        files.write(json_file, advice.to_json() + "\n", "--json")
    if json_file != files.STANDARD_OUTPUT:
        show(output(), recorded, advice, every)
