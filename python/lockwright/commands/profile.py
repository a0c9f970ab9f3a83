"""`lockwright profile`: the cost of each mutex of a program, and its call sites."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.common import grammar

if TYPE_CHECKING:
    from lockwright.profile.record import Profile


@click.command("profile", context_settings={"allow_interspersed_args": False})
@grammar.output_to_file(
    "the profile",
    note="It ends in .json, which advise and export read, or in .html, a report; repeatable.",
    type=str,
    multiple=True,
)
@click.option(
    "--rwlock",
    metavar="keep|mutex",
    help="Keep the C library's reader-writer locks, whose readers and writers have figures of "
    "their own, or replace them by mutexes, under which readers exclude each other.  "
    "[default: keep]",
)
@grammar.pid()
@grammar.seconds(
    None, least=0.1, of=" the process of --pid", note="Ctrl-C ends it sooner.  [default: 10]"
)
@grammar.command_line("[--] CMD...")
def command(
    output: tuple[str, ...],
    rwlock: str | None,
    pid: int | None,
    seconds: float | None,
    arguments: tuple[str, ...],
) -> int:
    """Run a program and report which of its mutexes cost most.

    The program keeps the C library's own mutexes; a sample of all acquisitions and all contended
    ones are recorded. Its exit status, signals, input and output are unchanged, also if it
    took no mutex or the profile cannot be written; the summary is printed on stderr. Of several
    processes, the one that spends most time on mutexes is reported.
    """
    from lockwright.base import files

    paths = [_output_path(name) for name in output]
    _check(pid, seconds, rwlock, arguments)
    environment = _with_rwlocks(rwlock)
    for path in paths:
        files.check_writable(path, "--output")
    if pid is not None:
        from lockwright.profile.attach import profile_process

        _write_outputs(profile_process(pid, seconds or 10.0), paths)
        return 0
    return _profile(list(arguments), environment, paths)


def _profile(arguments: list[str], environment: dict[str, str], paths: list[Path]) -> int:
    """Profile a command, and return its status."""
    from lockwright.base.errors import LockwrightError, explain
    from lockwright.profile.collect import profile_command
    from lockwright.profile.damage import DamagedRecords
    from lockwright.run import foreground

    foreground.ignore_termination()
    try:
        profiled = profile_command(arguments, environment)
    except DamagedRecords as error:
        explain(error)
        return foreground.end_as(error.program_status)
    try:
        _write_outputs(profiled.profile, paths)
    except LockwrightError as error:
        explain(error)
    return foreground.end_as(profiled.status)


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
            "--rwlock goes with a command", "the locks of a running process cannot be replaced"
        )


def _with_rwlocks(replacement: str | None) -> dict[str, str]:
    """Return the environment with this replacement of reader-writer locks, or with none: a setting
    for another command does not change the profile."""
    import os

    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import RWLOCK

    if replacement not in (None, "keep", "mutex"):
        raise LockwrightError(
            f"invalid value '{replacement}' for --rwlock", "choose from keep, mutex"
        )
    return dict(os.environ) | {RWLOCK: replacement or "keep"}


def _write_outputs(profile: "Profile", paths: list[Path]) -> None:
    from lockwright.base import files

    with contextlib.ExitStack() as outputs:
        # If one file cannot be written, the others still are.
        outputs.callback(_show, profile)
        for path in reversed(paths):
            if path.suffix == ".html":
                from lockwright.export import page

                outputs.callback(page.write, profile, path)
            else:
                outputs.callback(files.write, path, profile.to_json() + "\n", "--output")


def _output_path(name: str) -> Path:
    from lockwright.base.errors import LockwrightError

    path = Path(name)
    if path.suffix not in (".json", ".html"):
        raise LockwrightError(
            f"--output {name} is neither .json nor .html", "name a .json or .html file"
        )
    return path


def _show(profile: "Profile") -> None:
    from lockwright.base import terminal
    from lockwright.profile import summary

    # The program has ended: its status is returned even if the figures cannot be printed.
    with contextlib.suppress(OSError):
        summary.show(terminal.errors(), profile)
