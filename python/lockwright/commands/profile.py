"""`lockwright profile`: the cost of each mutex of a program, and its call sites."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from lockwright.commands.common import brief, grammar

if TYPE_CHECKING:
    from lockwright.profile.record import Profile


@brief.command("profile", context_settings={"allow_interspersed_args": False})
@grammar.output_to_file("the profile, which advise, tune and export read,")
@grammar.shared("--html", "Also write a report as HTML to FILE.", "html_file")
@grammar.shared(
    "--rwlock",
    "Keep the C library's reader-writer locks, whose readers and writers have figures of their own,"
    " or replace them by mutexes, under which readers exclude each other.  [default: keep]",
)
@grammar.pid(grammar.FROM_OUTSIDE)
@grammar.seconds(
    None, least=0.1, of=" the process of --pid", note="Ctrl-C ends it sooner.  [default: 10]"
)
@grammar.command_line("[--] CMD...")
def command(
    output: Path | None,
    html_file: Path | None,
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

    paths = {n: p for n, p in (("--output", output), ("--html", html_file)) if p is not None}
    _check(pid, seconds, rwlock, arguments)
    _check_paths(paths)
    environment = _with_rwlocks(rwlock)
    files.check_all_writable(paths)
    if pid is not None:
        from lockwright.profile.attach import profile_process

        _write_outputs(profile_process(pid, seconds or 10.0), paths)
        return 0
    return _profile(list(arguments), environment, paths)


def _profile(arguments: list[str], environment: dict[str, str], paths: dict[str, Path]) -> int:
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


def _write_outputs(profile: "Profile", paths: dict[str, Path]) -> None:
    from lockwright.base import files

    with contextlib.ExitStack() as outputs:
        # If one file cannot be written, the other still is.
        outputs.callback(_show, profile)
        for option, path in paths.items():
            if option == "--html":
                outputs.callback(_write_page, profile, path, option)
            else:
                outputs.callback(files.write, path, profile.to_json() + "\n", option)


def _write_page(profile: "Profile", path: Path, option: str) -> None:
    from lockwright.export import page
    from lockwright.predict.advised import advise_here

    page.write(profile, path, option, advise_here(profile))


def _check_paths(paths: dict[str, Path]) -> None:
    from lockwright.base import files
    from lockwright.base.errors import LockwrightError

    for option, path in paths.items():
        if path == files.STANDARD_OUTPUT:
            raise LockwrightError(
                f"{option} - is the program's own standard output", "give the name of a file"
            )
    output = paths.get("--output")
    if output is not None and output.suffix == ".html":
        raise LockwrightError(f"--output {output} is written as JSON", f"give --html {output}")


def _show(profile: "Profile") -> None:
    from lockwright.base import terminal
    from lockwright.profile import summary

    # The program has ended: its status is returned even if the figures cannot be printed.
    with contextlib.suppress(OSError):
        summary.show(terminal.errors(), profile)
