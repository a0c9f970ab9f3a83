"""The commands of the measurements of Lockwright's own workloads."""

from typing import Any

import click
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import grammar
from lockwright.experiment import Experiment

from lockwright_lab.bench import footprint as footprint_runs
from lockwright_lab.bench import handover as handover_runs
from lockwright_lab.bench import herd as herd_runs
from lockwright_lab.bench import oversubscribe as oversubscribe_runs
from lockwright_lab.bench import park as park_runs
from lockwright_lab.bench import rwlock as rwlock_runs
from lockwright_lab.bench import uncontended as uncontended_runs
from lockwright_lab.bench.runs import Common
from lockwright_lab.commands.bench.experiments import (
    measurement,
    named,
    numbers_option,
    threads_per_core,
)


@measurement(uncontended_runs.COLUMNS, 50)
@grammar.integer("--batch", 100_000, "Pairs that are timed together.")
@grammar.integer("--batches", 10, "Batches in one run.")
@grammar.integer(
    "--threads-alive",
    1,
    "Sleeping threads beside the one that is measured. With 0 the process has one thread "
    "only, and the C library then locks without atomic instructions.",
    least=0,
)
def uncontended(common: Common, **options: Any) -> Experiment:
    """Measure one thread that locks and unlocks a mutex that no other thread takes."""
    return uncontended_runs.uncontended(common, named(options))


@measurement(footprint_runs.COLUMNS, 3)
@grammar.integer("--mutexes", 1_000_000, "Mutexes in the array.", least=2)
@grammar.integer("--warm", 1000, "Mutexes that are locked before the measurement starts.")
@grammar.integer("--threads", 500, "Threads that each wait for one mutex.", most=30_000)
@grammar.integer(
    "--sharers", 16, "How many of these threads each lock every mutex of the array.", least=2
)
def footprint(common: Common, **options: int) -> Experiment:
    """Measure the memory of a lock for each mutex, each thread, and each pair of them."""
    for smaller, larger, is_below in (("warm", "mutexes", True), ("sharers", "threads", False)):
        least, most = options[smaller], options[larger]
        if least > most or (is_below and least == most):
            where = "not below" if is_below else "above"
            raise LockwrightError(
                f"--{smaller} {least} is {where} --{larger} {most}", f"give a smaller --{smaller}"
            )
    return footprint_runs.footprint(common, options)


@measurement(handover_runs.COLUMNS, 7, handover_runs.DEFAULT_LOCKS)
@threads_per_core("1,4,16")
@grammar.seconds(0.3)
@grammar.real_number(
    "--section-ns", 100.0, "Nanoseconds of work while the mutex is held.", metavar="NS", min=0
)
@grammar.real_number(
    "--gap-ns",
    200.0,
    "Nanoseconds of work between two acquisitions of a thread.",
    metavar="NS",
    min=0,
)
def handover(common: Common, threads_per_core: list[int], **options: float) -> Experiment:
    """Measure threads that contend for one mutex, as many as processors and many more."""
    return handover_runs.handover(common, named(options), threads_per_core)


@measurement(herd_runs.COLUMNS, 9, herd_runs.DEFAULT_LOCKS)
@grammar.integer("--waiters", 1000, "Threads that wait.", most=30_000)
@grammar.integer("--rounds-inside", 5, "Broadcasts in one run.")
@numbers_option(
    "--section-ns",
    "5000,1000,0",
    "Nanoseconds that each woken waiter works under the mutex; a table for each value. "
    "Real programs mostly hold it for 0.1 to 1 microsecond.",
)
@click.option(
    "--unlocked", is_flag=True, help="Broadcast after unlocking, not while holding the mutex."
)
@click.option(
    "--rejoin",
    is_flag=True,
    help="Let a woken waiter wait on the same condition variable again after its section, so that "
    "it requests the mutex while others still wait for it. Without this it waits elsewhere until "
    "all have run.",
)
def herd(
    common: Common,
    waiters: int,
    rounds_inside: int,
    section_ns: list[float],
    unlocked: bool,
    rejoin: bool,
) -> Experiment:
    """Measure a broadcast that wakes many waiters, which all need the same mutex."""
    flags = {"unlocked": int(unlocked), "rejoin": int(rejoin)}
    return herd_runs.herd(
        common, {"waiters": waiters, "rounds": rounds_inside, **flags}, section_ns
    )


@measurement(oversubscribe_runs.COLUMNS, 3)
@threads_per_core("1,2,4,16", " The others are compared with the fewest.")
@grammar.seconds(2.2, note="Below one second, the progress of each thread per second is unknown.")
@grammar.integer(
    "--section-cycles", 100, "Processor cycles of work while the mutex is held.", least=0
)
@grammar.integer(
    "--gap-cycles", 500, "Processor cycles of work between two acquisitions of a thread.", least=0
)
def oversubscribe(common: Common, threads_per_core: list[int], **options: float) -> Experiment:
    """Measure one mutex under increasing numbers of threads: throughput, and progress of every
    thread."""
    return oversubscribe_runs.oversubscribe(common, named(options), threads_per_core)


def _shares(values: list[float]) -> list[float]:
    if max(values) > 100:
        raise LockwrightError(
            f"--read-percent {max(values):g} is above 100", "give shares from 0 to 100"
        )
    return list(dict.fromkeys(values))


@measurement(rwlock_runs.COLUMNS, 5, with_locks=False)
@click.option(
    "--rwlocks",
    metavar="A,B,...",
    help="The reader-writer locks, keep or mutex, to measure beside libc.  [default: all]",
)
@click.option(
    "--mutex",
    default="pthread",
    show_default=True,
    metavar="LOCK",
    help="The lock whose library is loaded, and that replaces reader-writer locks under mutex.",
)
@numbers_option(
    "--read-percent", "0,50,90,99,100", "Shares of reads; tables for each.", convert=_shares
)
@threads_per_core("1,4")
@grammar.seconds(0.3)
@grammar.integer("--burst", 1, "Writes that a thread makes one after the other.")
@grammar.integer("--section-cycles", 200, "Processor cycles of work in a section.", least=0)
@grammar.integer("--gap-cycles", 400, "Processor cycles of work between two sections.", least=0)
def rwlock(
    common: Common,
    rwlocks: str | None,
    mutex: str,
    read_percent: list[float],
    threads_per_core: list[int],
    **options: float,
) -> Experiment:
    """Measure readers and writers of one reader-writer lock, under each of them."""
    names = None if rwlocks is None else [word.strip() for word in rwlocks.split(",")]
    chosen = rwlock_runs.contenders(names and list(filter(None, names)), mutex)
    return rwlock_runs.rwlock(common, named(options), chosen, read_percent, threads_per_core)


@measurement(park_runs.COLUMNS, 9, with_locks=False)
@grammar.integer("--trips", 20_000, "Round trips in one run.")
def park(common: Common, **options: int) -> Experiment:
    """Measure two threads that put each other to sleep and wake each other, without a lock."""
    return park_runs.park(common, named(options))


COMMANDS = (uncontended, footprint, handover, herd, oversubscribe, rwlock, park)
