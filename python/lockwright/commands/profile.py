"""`lockwright profile`: which mutex of a program costs how much, and where."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lockwright.profile.record import Profile


@click.command("profile", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "output",
    multiple=True,
    metavar="FILE",
    help="Where the profile goes: a .json file, which advise and export read, or a .html report; "
    "may be given twice.",
)
@click.option(
    "--rwlock",
    metavar="keep|mutex",
    help="What becomes of reader-writer locks: they are counted and no more, or become mutexes, at "
    "which readers exclude each other, and are profiled.  [default: keep]",
)
@click.option(
    "--pid",
    type=click.IntRange(min=1),
    help="Look at a process that runs already, from outside: only who sleeps for which mutex is "
    "seen. It needs the right to trace the process.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    help="For how long to look at it; Ctrl-C ends it sooner.  [default: 10]",
)
@click.argument("arguments", metavar="[--] CMD...", nargs=-1)
def command(
    output: tuple[str, ...],
    rwlock: str | None,
    pid: int | None,
    seconds: float | None,
    arguments: tuple[str, ...],
) -> int:
    """Run a program and say which of its mutexes cost most.

    The program uses the C library's own mutexes, with a look at some of their acquisitions and at
    those that have to wait. Its exit status, signals, input and output are its own, also where it
    took no mutex or the profile cannot be written; the summary comes on stderr. Of several
    processes, the one that spends most time on mutexes is shown.
    """
    from lockwright.base import files
    from lockwright.base.errors import LockwrightError, explain
    from lockwright.profile.collect import profile
    from lockwright.run import foreground

    wanted = [_checked(name) for name in output]
    _check(pid, seconds, rwlock, arguments)
    environment = _with_rwlocks(rwlock)
    for path in wanted:
        files.try_out(path, "-o")
    if pid is not None:
        from lockwright.profile.attach import attach

        _put_out(attach(pid, seconds or 10.0), wanted)
        return 0
    foreground.leave_to_program()
    found = profile(list(arguments), environment)
    try:
        _put_out(found.profile, wanted)
    except LockwrightError as error:
        explain(error)
    return foreground.end_as(found.status)


def _check(
    pid: int | None, seconds: float | None, rwlock: str | None, arguments: tuple[str, ...]
) -> None:
    from lockwright.base.errors import LockwrightError

    if (pid is None) == (not arguments):
        raise LockwrightError(
            "give either a command or --pid", "see 'lockwright profile --help' for both"
        )
    if seconds is not None and pid is None:
        raise LockwrightError("--seconds goes with --pid", "a command is profiled to its end")
    if rwlock is not None and pid is not None:
        raise LockwrightError(
            "--rwlock goes with a command",
            "locks of a process that runs already stay what they are",
        )


def _with_rwlocks(way: str | None) -> dict[str, str]:
    """The environment, in which they are kept unless asked for: else a setting for another command
    would change what is profiled."""
    import os

    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import RWLOCK

    if way not in (None, "keep", "mutex"):
        raise LockwrightError(f"--rwlock='{way}' is neither keep nor mutex", "say one of them")
    return dict(os.environ) | {RWLOCK: way or "keep"}


def _put_out(profile: "Profile", wanted: list[Path]) -> None:
    from lockwright.base import files

    with contextlib.ExitStack() as at_last:
        # A file that has no room any more does not take the others with it.
        at_last.callback(_show, profile)
        for path in reversed(wanted):
            if path.suffix == ".html":
                from lockwright.export import page

                at_last.callback(page.write, profile, path)
            else:
                at_last.callback(files.write, path, profile.to_json() + "\n", "-o")


def _checked(name: str) -> Path:
    from lockwright.base.errors import LockwrightError

    path = Path(name)
    if path.suffix not in (".json", ".html"):
        raise LockwrightError(f"-o {name} is neither .json nor .html", "name a file that ends so")
    return path


def _show(profile: "Profile") -> None:
    from lockwright.base import terminal
    from lockwright.profile import summary

    # The program has ended; where nobody takes the figures, its status still counts.
    with contextlib.suppress(OSError):
        console = terminal.errors()
        console.print(f"lockwright: {summary.sentence(profile)}", soft_wrap=True)
        if profile.mutexes:
            console.print(summary.table(profile))
        if profile.partial:
            console.print(f"lockwright: {profile.partial}", soft_wrap=True)
