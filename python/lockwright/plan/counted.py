"""A program with counted locks: its run, and the counts that are printed afterwards."""

import contextlib
import sys
from collections.abc import Mapping

from lockwright.base import numbers
from lockwright.base.errors import explain, warn
from lockwright.plan.launch import Launch, Subject, cannot_start
from lockwright.plan.read import SUBJECTS, Entry
from lockwright.preload import counters
from lockwright.preload.counters import Counts
from lockwright.preload.locks import RWLOCK, preload
from lockwright.run import foreground
from lockwright.run.unseen import UnseenPrograms


def run(launch: Launch, *, all_counts: bool) -> int:
    """Run the program, print all counts, or only the plan's entries without a mutex, and return the
    exit status. Raises LockwrightError if the program cannot be started."""
    subject, argv = launch.subject, list(launch.arguments)
    with counters.counters_file() as path:
        environment = preload(subject.path, launch.environment, launch.program)
        environment[counters.VARIABLE] = str(path)
        foreground.ignore_termination()
        try:
            unseen = UnseenPrograms(path)
            end = foreground.run(launch.program, argv, environment, look=unseen.look)
        except OSError as error:
            raise cannot_start(launch.program, error) from error
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


def _print_unused_entries(subject: Subject, counts: Counts) -> None:
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


def _plan_lines(subject: Subject, counts: Counts, environment: Mapping[str, str]) -> list[str]:
    """Return the lines on the mutexes, and on the reader-writer locks if the plan has entries for
    them: for those without an entry, and for each entry in the plan's order."""
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


def _show(subject: Subject, counts: Counts, environment: Mapping[str, str]) -> None:
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
