"""`lockwright export`: a profile in the format of another program."""

from pathlib import Path

import click

from lockwright.commands.common import brief, grammar

_FORMATS = ("html", "firefox", "pprof", "folded")


@brief.command("export")
@click.argument("profile", type=grammar.FILE, metavar="PROFILE.json")
@grammar.output_to_file("the result", required=True)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(_FORMATS),
    help="Format of FILE.  [default: by the end of its name]",
)
def command(profile: Path, output: Path, wanted: str | None) -> None:
    """Convert a profile to the format of another program.

    \b
    format   FILE ends in          opened by
    html     .html                 any browser
    firefox  .firefox.json         https://profiler.firefox.com, https://ui.perfetto.dev
    pprof    .pb.gz, .pprof        go tool pprof, https://www.speedscope.app
    folded   .folded, .collapsed   flamegraph.pl, https://www.speedscope.app

    The html page has the advice of 'lockwright advise', with its simulations of some seconds.

    The stacks are those of waiting threads, weighted by the time waited, with the mutex as
    the innermost function; in pprof it is a label. firefox has the timeline, too.

    Example: lockwright export profile.json -o waiting.pb.gz
    """
    from lockwright.export import formats
    from lockwright.profile import record

    name = wanted or formats.format_of(output)
    recorded = record.read(profile)
    if name == "html":
        from lockwright.export import page
        from lockwright.predict.advised import advise_here

        page.write(recorded, output, advice=advise_here(recorded))
    else:
        formats.write(recorded, output, name)
    click.echo(f"wrote {output}, for {formats.FORMATS[name].opened_by}", err=True)
