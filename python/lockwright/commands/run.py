"""`lockwright run`: run a program with a lock in place."""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.options import of_other_locks

if TYPE_CHECKING:
    from lockwright.counters import Counts
    from lockwright.locks import Registry


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--lock", required=True, metavar="LOCK", help="The lock to put in place.")
@click.option("--stats", is_flag=True, help="Afterwards, show on stderr what it was used for.")
@click.option(
    "--cond",
    type=click.Choice(["fifo", "cr"]),
    help="Which waiter a condition variable wakes: the one that waits longest, or mostly the one "
    "that came last, which keeps few threads of a pool active (concurrency restriction).  "
    "[default: fifo]",
)
@click.option(
    "--sem",
    type=click.Choice(["libc", "cr"]),
    help="Whose the semaphores are: the C library's, or ours, which wake as with --cond cr.  "
    "[default: libc]",
)
@of_other_locks
@click.argument("arguments", metavar="[--] CMD...", nargs=-1, required=True)
def command(
    lock: str,
    stats: bool,
    cond: str | None,
    sem: str | None,
    rwlock: str | None,
    spin: str | None,
    arguments: tuple[str, ...],
) -> int:
    """Run a program with a lock in the place of its mutexes.

    Exit status, signals, input and output are the program's own.
    """
    from lockwright import binary, calibration
    from lockwright.errors import warn
    from lockwright.locks import APPEND, RESTRICTING, choose_ways, preload, registry

    locks = registry()
    library = locks.path_of(lock, counting=stats)
    chosen = dict(os.environ)
    for option, kind in (("cond", cond), ("sem", sem)):
        if kind == "cr":
            chosen[APPEND[option]] = RESTRICTING
        elif kind is not None:
            chosen.pop(APPEND[option], None)
    choose_ways(chosen, {"rwlock": rwlock, "spin": spin})
    locks.check_environment(lock, chosen)
    program = binary.find(arguments[0])
    doubt = binary.check(program, library, list(arguments[1:]))
    if doubt is not None:
        warn(doubt)
    calibrated = calibration.all_in_force(locks, [lock], chosen)
    environment = chosen | calibrated[lock]
    if stats:
        return _run_counted(locks, lock, program, list(arguments), environment)
    from lockwright.foreground import PYTHON_IGNORES

    for number in PYTHON_IGNORES:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, arguments, preload(library, environment, binary.sanitizer(program)))
    except OSError as error:
        raise _cannot_start(program, error) from error


def _cannot_start(program: Path, error: OSError) -> Exception:
    from lockwright.errors import LockwrightError

    return LockwrightError(
        f"cannot run '{program}': {error.strerror}", "check the program and its arguments"
    )


def _run_counted(
    locks: "Registry", lock: str, program: Path, argv: list[str], environment: dict[str, str]
) -> int:
    from lockwright import binary, counters, foreground
    from lockwright.locks import preload

    with counters.counters_file() as path:
        library = locks.path_of(lock, counting=True)
        environment = preload(library, environment, binary.sanitizer(program))
        environment[counters.VARIABLE] = str(path)
        try:
            status = foreground.run(program, argv, environment)
        except OSError as error:
            raise _cannot_start(program, error) from error
        counts = counters.read(path)
    if status == 0:
        counters.refuse_unused(counts, argv[0])
    _show(lock, counts)
    return foreground.end_as(status)


def _show(lock: str, counts: "Counts") -> None:
    share = f" ({counts.contended / counts.acquisitions:.1%})" if counts.acquisitions else ""
    rows = (
        ("processes", f"{counts.processes:,}"),
        ("mutexes", f"{counts.mutexes:,}"),
        ("acquisitions", f"{counts.acquisitions:,}"),
        ("contended", f"{counts.contended:,}{share}"),
        ("condvar waits", f"{counts.cond_waits:,}"),
        ("failed trylocks", f"{counts.failed_trylocks:,}"),
        ("futex waits", f"{counts.futex_waits:,}"),
        ("futex wakes", f"{counts.futex_wakes:,}"),
        ("handed to the C library", f"{counts.handed_over:,}"),
    )
    of_others = (
        ("read locks", counts.reads),
        ("write locks", counts.writes),
        ("spin locks", counts.spins),
    )
    ours = [(label, f"{number:,}") for label, number in of_others if number]
    lines = [f"lockwright: {lock}"]
    lines += [f"  {label:<24} {value}" for label, value in (*rows, *ours)]
    if counts.processes == 0:
        lines.append("  the lock's library was never loaded")
    if counts.unresolved:
        lines.append(
            f"  {counts.unresolved} names of the locking API did not resolve to the lock:"
            " part of what the program does is not seen"
        )
    # The program has ended; where nobody takes the figures, its status still counts.
    with contextlib.suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)
