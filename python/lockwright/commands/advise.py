"""`lockwright advise`: what a profile says."""

from pathlib import Path

import click

from lockwright.commands.common import grammar


@click.command("advise", cls=grammar.FormerFlag)
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
@click.option("--all", "every", is_flag=True, help="Also show the evidence that decided nothing.")
@grammar.json_file("the whole advice", was_flag=True)
def command(profile: Path, size: int, every: bool, json_file: Path | None) -> None:
    """Name the bottleneck, the locks to try, and what to change in the program.

    PROFILE is a file that 'lockwright profile -o' wrote. It is compared with the nine bottlenecks
    that the papers on locks name; each is shown with the figures that decided. Six questions then
    narrow down the locks, and those that are left are ranked. Nothing is run: 'lockwright compare'
    with the locks that are named measures what they bring, and 'lockwright tune' does all of it.
    """
    from lockwright.advise import advise
    from lockwright.advise.show import show
    from lockwright.base import files
    from lockwright.base.terminal import output
    from lockwright.profile import record

    seen = record.read(profile)
    advice = advise(seen, size=size)
    if json_file is not None:
        files.write(json_file, advice.to_json() + "\n", "--json")
    if json_file != files.STANDARD_OUTPUT:
        show(output(), seen, advice, every)
