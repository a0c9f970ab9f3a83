"""`lockwright top`: the mutexes of a program while it runs."""

from pathlib import Path

import click


@click.command("top", context_settings={"allow_interspersed_args": False})
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1, max=3600),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds between two looks.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the program's own output goes.  [default: a file that is named at the end]",
)
@click.argument("arguments", metavar="[--] CMD...", nargs=-1, required=True)
def command(interval: float, output: Path | None, arguments: tuple[str, ...]) -> int:
    """Show which mutexes of a program threads wait for, while it runs.

    For each: the time that threads lost to it in each second of the last interval, summed over the
    threads; how many wait at this moment; the share of its acquisitions that found it held; how
    often it is taken; and where those took it for whom others waited. The key q or Ctrl-C ends the
    program. Without a terminal there is a line for each interval.

    The exit status is the program's own. Otherwise it is run as by 'lockwright profile'.
    """
    import os
    import shlex
    import tempfile

    from lockwright import binary, foreground
    from lockwright.profile import collect, summary
    from lockwright.profile.top import Top, diverted
    from lockwright.terminal import errors

    program = binary.find(arguments[0])
    collect.probe_path()
    path = output
    if path is None:
        handle, name = tempfile.mkstemp(prefix="lockwright-top-", suffix=".log")
        os.close(handle)
        path = Path(name)
    foreground.leave_to_program()
    try:
        with diverted(path) as streams:
            top = Top(streams, str(program), shlex.join(arguments), interval)
            with top.shown():
                found = collect.profile(list(arguments), also=top.look)
    finally:
        is_kept = output is not None or path.stat().st_size > 0
        if not is_kept:
            path.unlink()
    console = errors()
    console.print(f"lockwright: {summary.sentence(found.profile)}", soft_wrap=True)
    if found.profile.mutexes:
        console.print(summary.table(found.profile))
    if is_kept:
        console.print(f"lockwright: the program's output is in {path}", soft_wrap=True)
    return 0 if top.stopped else foreground.end_as(found.status)
