"""`lockwright top`: what the threads of a program wait for, while it runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from lockwright.commands.common import brief, grammar

if TYPE_CHECKING:
    from lockwright.profile.collect import Profiled
    from lockwright.profile.damage import DamagedRecords
    from lockwright.profile.watch import OnSample


@brief.command("top", context_settings={"allow_interspersed_args": False})
@grammar.real_number(
    "--interval", 1.0, "Seconds between two updates.", metavar="S", min=0.1, max=3600
)
@grammar.output_to_file("the program's own output", default="a file named at the end")
@grammar.pid(grammar.FROM_OUTSIDE)
@grammar.command_line("[--] CMD...")
def command(
    interval: float, output: Path | None, pid: int | None, arguments: tuple[str, ...]
) -> int:
    """Show what a program's threads wait for, while it runs.

    For each mutex: the time that threads lost to it per second of the last interval, summed over
    the threads; the number of waiters; the share of acquisitions that were contended; acquisitions
    per second; and the call sites of the holders. For each condition variable, semaphore, barrier,
    initialisation, futex of a library, and caller that joins threads: the time waited and the waits
    per second, the number of waiters, and the call site that ended most waits. The key q or Ctrl-C
    ends the program. Without a terminal there is a line for each interval.

    The program is run as by 'lockwright profile', and its exit status is returned. A process of
    --pid, which q and Ctrl-C do not end, is shown as far as samples from outside tell.
    """
    from lockwright.base.errors import LockwrightError

    if (pid is None) == (not arguments):
        raise LockwrightError(
            "give either a command or --pid", "see 'lockwright top --help' for both"
        )
    if pid is None:
        return _run(interval, output, arguments)
    if output is not None:
        raise LockwrightError("--output goes with a command", "leave it out, or give a command")
    return _attach(interval, pid)


def _attach(interval: float, pid: int) -> int:
    import shlex
    import sys
    import time

    from lockwright.base.errors import warn
    from lockwright.base.terminal import errors
    from lockwright.profile.attached import PERIOD, Attached
    from lockwright.profile.attached_live import AttachedLive
    from lockwright.profile.top import Streams, Top

    with Attached(pid) as target:
        if target.remark:
            warn(target.remark)
        streams = Streams(sys.stdout, 0 if sys.stdin is not None and sys.stdin.isatty() else None)
        top = Top(streams, target.program, f"{pid}: {shlex.join(target.command)}", interval)
        live, is_running = AttachedLive(target), True
        try:
            with top.displayed():
                while not top.stopped and (is_running := target.sample()):
                    top.show_attached(live)
                    time.sleep(PERIOD)
        except KeyboardInterrupt:
            pass
        if not is_running:
            errors().print(f"lockwright: process {pid} has ended", soft_wrap=True)
    return 0


def _profiled(arguments: tuple[str, ...], on_sample: "OnSample") -> "Profiled | DamagedRecords":
    """Run the program; return its profile, or why there is none."""
    from lockwright.profile import collect
    from lockwright.profile.damage import DamagedRecords

    try:
        return collect.profile_command(list(arguments), on_sample=on_sample)
    except DamagedRecords as error:
        return error


def _run(interval: float, output: Path | None, arguments: tuple[str, ...]) -> int:
    import os
    import shlex
    import tempfile

    from lockwright.base.errors import explain
    from lockwright.base.terminal import errors
    from lockwright.preload import binary
    from lockwright.profile import collect, summary
    from lockwright.profile.damage import DamagedRecords
    from lockwright.profile.top import Top, redirected_output
    from lockwright.run import foreground

    program = binary.find(arguments[0])
    collect.probe_path()
    path = output
    if path is None:
        handle, name = tempfile.mkstemp(prefix="lockwright-top-", suffix=".log")
        os.close(handle)
        path = Path(name)
    foreground.ignore_termination()
    try:
        with redirected_output(path) as streams:
            top = Top(streams, str(program), shlex.join(arguments), interval)
            with top.displayed():
                profiled = _profiled(arguments, top.show_buffer)
    finally:
        has_output = output is not None or (path.exists() and path.stat().st_size > 0)
        if not has_output:
            path.unlink(missing_ok=True)
    console = errors()
    if isinstance(profiled, DamagedRecords):
        explain(profiled)
        status = profiled.program_status
    else:
        summary.show(console, profiled.profile)
        status = profiled.status
    if has_output:
        console.print(f"lockwright: the program's output is in {path}", soft_wrap=True)
    return 0 if top.stopped else foreground.end_as(status)
