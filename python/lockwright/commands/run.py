"""`lockwright run`: run a program with a lock in place."""

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.base import numbers
from lockwright.commands.common import complete, grammar
from lockwright.commands.common.options import other_lock_options, setting_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lockwright.plan.read import Entry, Plan
    from lockwright.preload.counters import Counts
    from lockwright.preload.locks import Registry
    from lockwright.run.settings import Settings


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option(
    "--lock",
    metavar="LOCK",
    shell_complete=complete.lock,
    help="Put this lock in place.  [default: adaptive]",
)
@click.option(
    "--plan",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Put several locks in place, as this plan assigns them to mutexes: docs/plans.md.",
)
@click.option(
    "--stats", is_flag=True, help="Print the counts of the lock's operations on stderr afterwards."
)
@click.option(
    "--metrics",
    is_flag=True,
    help="Let the program count its waits for mutexes, for 'lockwright metrics'.",
)
@click.option(
    "--cond",
    type=click.Choice(["fifo", "cr"]),
    help="Let a condition variable wake the longest waiter first, or mostly the latest one, "
    "so that few threads of a pool are active (concurrency restriction).  [default: fifo]",
)
@click.option(
    "--sem",
    type=click.Choice(["libc", "cr"]),
    help="Keep the C library's semaphores, or replace them by ones that wake as with --cond cr.  "
    "[default: libc]",
)
@other_lock_options
@setting_options
@grammar.command_line("[--] CMD...", required=True)
def command(
    lock: str | None,
    plan: Path | None,
    stats: bool,
    metrics: bool,
    cond: str | None,
    sem: str | None,
    rwlock: str | None,
    spin: str | None,
    settings: "Settings",
    arguments: tuple[str, ...],
) -> int:
    """Run a program with a lock in the place of its mutexes, or with several by a plan.

    Exit status, signals, input and output of the program are unchanged, also if it took no mutex.
    If it cannot be started, the status is 2.
    """
    from lockwright.base.errors import warn
    from lockwright.machine import calibration
    from lockwright.preload import binary
    from lockwright.preload.locks import (
        APPEND,
        METRICS,
        RESTRICTING,
        check_plan_replacements,
        preload,
        registry,
        set_replacements,
    )

    locks = registry()
    subject = _subject(locks, lock, plan, stats)
    chosen = dict(os.environ)
    for option, kind in (("cond", cond), ("sem", sem)):
        if kind == "cr":
            chosen[APPEND[option]] = RESTRICTING
        elif kind is not None:
            chosen.pop(APPEND[option], None)
    if metrics:
        chosen[METRICS] = "1"
    if rwlock is None and subject.plan is not None:
        rwlock = subject.plan.rwlock
    set_replacements(chosen, {"rwlock": rwlock, "spin": spin})
    if subject.plan is not None:
        check_plan_replacements(chosen, "give one lock for all with --lock")
    for name in subject.locks:
        locks.check_environment(name, chosen)
    program = binary.find(arguments[0])
    if doubt := binary.check(program, subject.path, list(arguments[1:])):
        warn(doubt)
    environment = chosen
    for variables in calibration.calibrated_variables(locks, subject.locks, chosen).values():
        environment = environment | variables
    if subject.plan is not None:
        environment = environment | subject.compile_plan(program)
    if settings:
        environment = _apply(settings, program, list(arguments), environment, subject.path)
    if stats or (subject.plan is not None and subject.plan.entries):
        return _run_counted(subject, program, list(arguments), environment, stats)
    from lockwright.run.foreground import PYTHON_IGNORES

    for number in PYTHON_IGNORES:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, arguments, preload(subject.path, environment, program))
    except OSError as error:
        raise _cannot_start(program, error) from error


def _apply(
    settings: "Settings",
    program: Path,
    argv: list[str],
    environment: dict[str, str],
    library: Path,
) -> dict[str, str]:
    """Apply the settings to this process, which the program inherits, and return its environment
    without the lock's library. Raises LockwrightError."""
    from lockwright.base.errors import LockwrightError
    from lockwright.preload import allocators, binary
    from lockwright.preload.locks import preload
    from lockwright.run import inherited
    from lockwright.run.settings import BATCH, SMALL

    settings.check(binary.executed(program, argv[1:]), environment)
    environment = settings.environment(environment)
    if (allocator := settings.chosen_allocator) is not None:
        loaded = preload(library, environment, program)
        allocators.check_order(allocator, program, loaded, library)
    try:
        inherited.pass_on(settings.processors, settings.scheduler == BATCH, settings.pages == SMALL)
    except OSError as error:
        raise LockwrightError(
            f"the system refuses {' '.join(settings.options)}: {error.strerror}",
            "leave out that option, or check what the container or service allows",
        ) from error
    return environment


@dataclass
class _Subject:
    """The lock or plan to put in place. locks: their names; path: that of the preloaded library;
    plan: None for a single lock; entries: those of the compiled plan in the order of its counts,
    None for a default entry."""

    name: str
    locks: list[str]
    path: Path
    plan: "Plan | None" = None
    entries: "Sequence[Entry | None]" = ()

    def compile_plan(self, program: Path) -> dict[str, str]:
        """Compile the plan for the program, and return its environment variable."""
        from lockwright.plan import compiled

        assert self.plan is not None
        compiled_plan = compiled.compile_for(self.plan, program)
        self.entries = compiled_plan.entries
        return {compiled.VARIABLE: compiled_plan.text}


def _subject(locks: "Registry", lock: str | None, plan: Path | None, counting: bool) -> _Subject:
    from lockwright.base.errors import LockwrightError

    if lock is not None and plan is not None:
        raise LockwrightError(
            "--lock and --plan exclude each other",
            "give --lock LOCK, or --plan FILE for several; see 'lockwright run --help'",
        )
    if plan is None:
        lock = lock or locks.default.name
        return _Subject(lock, [lock], locks.path_of(lock, counting=counting))
    from lockwright.plan.read import read

    assignment = read(plan, locks)
    # The baseline has no parameters, and may not have been built.
    known = [name for name in assignment.all_locks if name in locks.names]
    return _Subject(str(plan), known, locks.path_of_mixed(counting=counting), assignment)


def _cannot_start(program: Path, error: OSError) -> Exception:
    from lockwright.base.errors import LockwrightError

    return LockwrightError(
        f"cannot run '{program}': {error.strerror}", "check the program and its arguments"
    )


def _run_counted(
    subject: _Subject, program: Path, argv: list[str], environment: dict[str, str], all_counts: bool
) -> int:
    """Run the program, and then print all counts, or only the plan's entries without a mutex."""
    from lockwright.base.errors import explain, warn
    from lockwright.preload import counters
    from lockwright.preload.locks import preload
    from lockwright.run import foreground
    from lockwright.run.unseen import UnseenPrograms

    with counters.counters_file() as path:
        environment = preload(subject.path, environment, program)
        environment[counters.VARIABLE] = str(path)
        foreground.ignore_termination()
        try:
            unseen = UnseenPrograms(path)
            end = foreground.run(program, argv, environment, look=unseen.look)
        except OSError as error:
            raise _cannot_start(program, error) from error
        running = unseen.running()
        try:
            counts = counters.read(path)
        except OSError as error:
            # The program has ended: return its status.
            warn(f"the counters file has disappeared: {error.strerror}")
            return foreground.end_as(end.status)
    if not all_counts:
        _print_unused_entries(subject, counts)
    elif reason := counters.why_unused(counts, argv[0], end.process, unseen.found()):
        explain(reason)
    else:
        _show(subject, counts, environment)
    if all_counts and running:
        warn(
            f"process {running[0]} still runs in the background, and is counted up to here: run it"
            " in the foreground, where it ends with the command"
        )
    return foreground.end_as(end.status)


def _print_unused_entries(subject: _Subject, counts: "Counts") -> None:
    """Print a line with the entries that apply to no mutex, if there are any."""
    unmatched: dict[str, list[Entry]] = {}
    for entry, count in zip(subject.entries, counts.by_entry, strict=False):
        if entry is not None and count == 0:
            unmatched.setdefault(entry.subject, []).append(entry)
    for what, entries in unmatched.items():
        entries.sort(key=lambda entry: entry.number)
        descriptions = "; ".join(entry.description for entry in entries)
        with contextlib.suppress(OSError):
            print(f"lockwright: {subject.name}: no {what} matched {descriptions}", file=sys.stderr)


def _plan_lines(subject: _Subject, counts: "Counts", environment: "Mapping[str, str]") -> list[str]:
    """Return the lines on the mutexes, and on the reader-writer locks if the plan has entries for
    them: for those without an entry, and for each entry in the plan's order."""
    from lockwright.plan.read import SUBJECTS
    from lockwright.preload.locks import RWLOCK

    if subject.plan is None:
        return []
    defaults = iter([subject.plan.locks, (environment.get(RWLOCK) or "keep",)])
    lines = []
    counted = list(zip(subject.entries, counts.by_entry, strict=False))
    starts = [index for index, (entry, _) in enumerate(counted) if entry is None]
    for start, end, table in zip(starts, [*starts[1:], None], SUBJECTS, strict=False):
        what, plural = SUBJECTS[table]
        rows = [(0, ", ".join(next(defaults)), counted[start][1], "all others")]
        for entry, count in counted[start + 1 : end]:
            assert entry is not None
            remark = "" if count else f"  (no {what} matched)"
            rows.append((entry.number, ", ".join(entry.locks), count, entry.description + remark))
        rows.sort()
        width = max(len(names) for _, names, _, _ in rows)
        lines.append(f"  {plural} by the plan")
        lines += [f"    {names:<{width}} {count:>9,}  {label}" for _, names, count, label in rows]
    return lines


def _show(subject: _Subject, counts: "Counts", environment: "Mapping[str, str]") -> None:
    share = (
        f" ({numbers.percent(counts.contended / counts.acquisitions, 1)})"
        if counts.acquisitions
        else ""
    )
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
    other_locks = {
        "read locks": counts.reads,
        "write locks": counts.writes,
        "spin locks": counts.spins,
    }
    other_rows = [(label, f"{number:,}") for label, number in other_locks.items() if number]
    lines = [f"lockwright: {subject.name}"]
    lines += [f"  {label:<24} {value}" for label, value in (*rows, *other_rows)]
    lines += _plan_lines(subject, counts, environment)
    if counts.unresolved:
        lines.append(
            f"  {counts.unresolved} names of the locking API did not resolve to the lock:"
            " these calls are not counted"
        )
    # The program has ended: its status is returned even if the figures cannot be printed.
    with contextlib.suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)
