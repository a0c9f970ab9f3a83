"""The probe runs before all others: whether the program takes mutexes of the preloaded library, and
whether its wall time tells anything about them."""

import math
from dataclasses import asdict

from lockwright.base.errors import LockwrightError
from lockwright.base.numbers import number
from lockwright.base.progress import print_line
from lockwright.compare import runner
from lockwright.compare.plan import Plan
from lockwright.compare.warnings import SHORT
from lockwright.preload import counters, loads
from lockwright.preload.counters import Counts
from lockwright.preload.locks import BASELINE, RWLOCK, Registry

FIXED_TIME = "fixed_time"
"""Key among the counts: whether the program seems to run for a fixed time."""

FIXED_TIME_TEXT = (
    "the program seems to run for a fixed time: a run that was stopped for a while ended no later,"
    " but took its locks another number of times, so wall time says nothing about locks"
)
FIXED_TIME_ADVICE = "name a number that it prints with --metric, as in --metric 'rate: ([0-9.]+)'"

_STOPPED = (0.45, 0.4)
"""Begin and length of the stop of a run, as shares of its wall time: it is most likely to fall into
the time that a program measures, not into its preparation before or its reckoning after."""

_AS_MUCH = 0.03
"""Largest share by which acquisitions differ between two runs with the same work."""

_RUNS = 2
"""Runs that a stopped one is compared with, since one may have taken its locks as often by
chance."""


def probe(plan: Plan, registry: Registry, runs: runner.Runner) -> dict[str, int]:
    """Return the counts of a run under the counting baseline at the smallest number of threads,
    with FIXED_TIME. Raises LockwrightError if the run fails, takes no mutex, or prints no
    metric."""
    threads = min(plan.threads)
    command = _command_text(plan, threads)
    answer, counts = _counted_run(plan, registry, runs, threads)
    problem = answer.problem
    check_time(plan, threads, answer)
    if problem:
        raise LockwrightError(
            f"a first run of '{command}' failed ({problem})",
            "make the command work by itself first",
        )
    ended = loads.Ended(answer.ending.pid, answer.ending.name)
    if reason := counters.why_unused(counts, plan.command[0], ended):
        raise reason
    if plan.names_rwlocks and counts.reads + counts.writes == 0:
        raise LockwrightError(
            f"'{plan.command[0]}' took no reader-writer lock, so --rwlocks changes nothing",
            "leave it out",
        )
    if counts.acquisitions + counts.reads + counts.writes == 0:
        raise LockwrightError(
            f"all mutexes of '{plan.command[0]}' stay with the C library "
            "(process-shared, robust or priority), so no lock can change how it runs",
            "compare with a program that has ordinary mutexes",
        )
    if counts.unresolved:
        print_line(
            f"{counts.unresolved} names of the locking API did not resolve to the lock's library"
        )
    check_metric(plan, threads, answer)
    is_fixed = runs_for_fixed_time(plan, registry, runs, threads, answer.ending.wall)
    return asdict(counts) | {FIXED_TIME: is_fixed}


def _counted_run(
    plan: Plan,
    registry: Registry,
    runs: runner.Runner,
    threads: int,
    pause: tuple[float, float] | None = None,
) -> tuple[runner.Answer, Counts]:
    with counters.counters_file() as path:
        library = registry.path_of(BASELINE, counting=True)
        # The C library's reader-writer locks are not counted.
        replaced = {RWLOCK: plan.rwlocks[0]} if plan.rwlocks else {}
        variables = {counters.VARIABLE: str(path), **replaced}
        return runs.run(threads, library, variables, pause=pause), counters.read(path)


def runs_for_fixed_time(
    plan: Plan, registry: Registry, runs: runner.Runner, threads: int, wall: float
) -> bool:
    """Return whether the program seems to run for a fixed time, as most load generators do, or to
    work at a fixed rate. wall: seconds of an earlier run.

    A run is stopped for a while. One that has a fixed amount of work ends that much later; one that
    runs until a moment does not, and takes its locks more or less often than without the stop. A
    program that only sleeps for long takes them as often.
    """
    if plan.metric is not None:
        return False
    while wall >= SHORT:
        begin, length = (share * wall for share in _STOPPED)
        stopped, counts = _counted_run(plan, registry, runs, threads, (begin, length))
        if stopped.problem is not None or stopped.ending.wall > wall + length / 2:
            return False
        if stopped.ending.wall > begin:
            break
        # It ended before the stop: the earlier run was slow, as with cold caches.
        wall = stopped.ending.wall
    else:
        return False
    others = [_counted_run(plan, registry, runs, threads) for _ in range(_RUNS)]
    usual = min(math.inf if other.problem else other.ending.wall for other, _ in others)
    if stopped.ending.wall > usual + length / 2 or all(
        abs(counts.taken - other.taken) <= _AS_MUCH * other.taken for _, other in others
    ):
        return False
    print_line(f"{FIXED_TIME_TEXT}; {FIXED_TIME_ADVICE}")
    return True


def check_time(plan: Plan, threads: int, answer: runner.Answer) -> None:
    """Check the probe run. Raises LockwrightError if it took too long."""
    if answer.ending.outcome == "timeout":
        raise LockwrightError(
            f"a first run of '{_command_text(plan, threads)}' {answer.problem}",
            "give it less work, or raise --timeout",
        )


def check_metric(plan: Plan, threads: int, answer: runner.Answer) -> None:
    """Check a successful probe run. Raises LockwrightError if it did not print the metric."""
    if plan.metric is not None and number(answer.ending.metric) is None:
        raise LockwrightError(
            f"a first run of '{_command_text(plan, threads)}': "
            f"{runner.why_no_number(answer.ending.metric)}",
            "correct --metric, with ( ) around the number, as in --metric 'rate: ([0-9.]+)'",
        )


def _command_text(plan: Plan, threads: int) -> str:
    return " ".join(plan.argv(threads))[:120]
