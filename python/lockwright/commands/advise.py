"""`lockwright advise`: what a profile says."""

from pathlib import Path

import click


@click.command("advise")
@click.argument("profile", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--top",
    "size",
    type=click.IntRange(min=1, max=99),
    default=5,
    show_default=True,
    help="How many locks to name.",
)
@click.option("--all", "every", is_flag=True, help="Also show the evidence that decided nothing.")
@click.option("--json", "as_json", is_flag=True, help="The whole advice as JSON.")
def command(profile: Path, size: int, every: bool, as_json: bool) -> None:
    """Say what the bottleneck is, which locks to try, and what to change in the program.

    PROFILE is a file that 'lockwright profile -o' wrote. It is held against the nine bottlenecks
    that the papers on locks name; each is shown with the figures that decided. Six questions then
    narrow down the locks, and those that are left are ranked. Nothing is run: 'lockwright compare'
    with the locks that are named measures what they bring, and 'lockwright tune' does all of it.
    """
    from lockwright.advise import advise
    from lockwright.advise.show import show
    from lockwright.base.terminal import output
    from lockwright.profile import record

    seen = record.read(profile)
    advice = advise(seen, size=size)
    if as_json:
        click.echo(advice.to_json())
    else:
        show(output(), seen, advice, every)
