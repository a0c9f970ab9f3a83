"""`lockwright export`: a profile in the format of another program."""

from pathlib import Path

import click

from lockwright.commands.common import grammar

_FORMATS = ("html", "speedscope", "firefox", "perfetto", "pprof", "folded")


@click.command("export")
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
    format      FILE ends in                     opened by
    html        .html                            any browser
    speedscope  .speedscope.json                 https://www.speedscope.app
    firefox     .firefox.json                    https://profiler.firefox.com
    perfetto    .perfetto.json, .trace.json      https://ui.perfetto.dev
    pprof       .pb.gz, .pprof                   go tool pprof
    folded      .folded, .collapsed              flamegraph.pl

    The stacks are those of waiting threads, weighted by the time waited, with the mutex as
    the innermost function; in pprof it is a label. Perfetto gets the timeline alone, the Firefox
    Profiler both.

    Example: lockwright export profile.json -o waiting.pb.gz
    """
    from lockwright.export import formats
    from lockwright.profile import record

    name = wanted or formats.format_of(output)
    formats.write(record.read(profile), output, name)
    click.echo(f"wrote {output}, for {formats.FORMATS[name].opened_by}", err=True)
