"""The probe run before all others, which checks that the program takes mutexes of the preloaded
library."""

from dataclasses import asdict

from lockwright.base.errors import LockwrightError
from lockwright.base.numbers import number
from lockwright.base.progress import print_line
from lockwright.compare import runner
from lockwright.compare.plan import Plan
from lockwright.preload import counters, loads
from lockwright.preload.locks import BASELINE, RWLOCK, Registry


def probe(plan: Plan, registry: Registry, runs: runner.Runner) -> dict[str, int]:
    """Return the counts of a run under the counting baseline at the smallest number of threads.
    Raises LockwrightError if the run fails, takes no mutex, or prints no metric."""
    threads = min(plan.threads)
    command = _command_text(plan, threads)
    with counters.counters_file() as path:
        library = registry.path_of(BASELINE, counting=True)
        # The C library's reader-writer locks are not counted.
        replaced = {RWLOCK: plan.rwlocks[0]} if plan.rwlocks else {}
        answer = runs.run(threads, library, {counters.VARIABLE: str(path), **replaced})
        counts = counters.read(path)
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
    if plan.rwlocks and counts.reads + counts.writes == 0:
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
    return asdict(counts)


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
