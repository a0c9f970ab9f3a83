"""Every POSIX program passes under the C library, under every lock, and under plans in which
successive mutexes have different locks."""

from collections.abc import Iterator

import pytest
from support import harness, locate, tiers
from support.harness import RunUnder

#: Programs, and the properties that they check.
PROGRAMS = {
    "exclusion": "two counters in a critical section stay equal",
    "trylock": "trylock fails while the mutex is held, else takes it, and leaves the queue intact",
    "many_threads": "200 threads on two cores, and a thousand parked",
    "static_init": "static initialisers of every type, first used by many threads at once",
    "reuse": "memory of mutexes reused, zeroed, initialised twice, freed by the last user",
    "abandoned": "mutexes that are never destroyed leak no memory, and copies are independent",
    "no_memory": "mutexes work when the kernel gives no memory",
    "types": "recursive, error-checking and adaptive mutexes behave as POSIX requires",
    "c_library_kinds": "shared, robust and priority mutexes work",
    "cond_queue": "producers and consumers, and no wake-up lost in 100,000 rounds",
    "cond_wake": "broadcast wakes all, signal one, and no thread wakes spuriously",
    "cond_timed": "timed waits on both clocks, and signals that race with the timeout",
    "cond_types": "condition variables with every mutex type",
    "cond_cancel": "a cancelled waiter holds the mutex and consumes no signal",
    "churn": "10,000 short threads leak no memory",
    "migrate": "mutexes released by another thread leak no memory",
    "timedlock": "timed locks give up at their deadline and not before",
    "c11": "mutexes and condition variables of C11's threads.h, in C",
    "cpp20": "classes of C++20 that lock or wait by POSIX objects",
    "fork": "a child can use the mutexes that its parent held or queued for",
    "started_programs": "programs started by every function while mutexes are contended",
    "async_cancel": "threads cancelled within a lock call leave other mutexes usable",
    "thread_ends": "threads that end while they hold mutexes",
    "raw_clone": "the child of a raw clone() corrects the number that mutexes name as owner",
    "own_getenv": "a program may have a getenv() of its own, which locks",
    "sandbox": "locks work where all calls but those of the C library's end the process",
    "plugins": "libraries that lock are loaded and unloaded, alone and with the program",
    "busylock": "a lock call that never parks has the results of one that does",
    "early_and_late": "mutexes work before main, in destructors, and while others wait at exit",
}

#: Programs whose admission or memory depends on the NUMA nodes: they run on each declared machine,
#: the others on the one with most nodes.
ON_EACH_MACHINE = {
    "exclusion",
    "trylock",
    "many_threads",
    "static_init",
    "reuse",
    "churn",
    "migrate",
    "abandoned",
    "no_memory",
    "timedlock",
    "fork",
    "thread_ends",
    "busylock",
}


#: Programs that each run makes with every lock; the others show the preload library more than the
#: algorithm, or what the unit tests show of it.
UNDER_EVERY_LOCK = {"exclusion", "timedlock"}
SAME = "the preload library is the same for locks of the same traits"
C_LIBRARY = pytest.mark.full("the preload library of the C library's mutex runs it, too")
FEWER_NODES = pytest.mark.full("the machine with most nodes leads through the same code")


#: Each lock on the declared machine with most nodes.
MOST_NODES = harness.all_settings(least_nodes=max(harness.NODES.values()))


def marks(setting: harness.Setting, name: str) -> pytest.MarkDecorator | tuple[()]:
    """Return what leaves a program out of the short run under a setting."""
    if setting not in MOST_NODES:
        return FEWER_NODES
    if name in UNDER_EVERY_LOCK:
        return ()
    return (
        pytest.mark.sampled(SAME, memory=name in ON_EACH_MACHINE)
        if setting.preloaded
        else C_LIBRARY
    )


def runs() -> Iterator[tuple[harness.Setting, str]]:
    for setting in harness.all_settings():
        for name in PROGRAMS:
            if name in ON_EACH_MACHINE or setting in MOST_NODES:
                yield setting, name


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        pytest.param(setting, name, id=f"{setting.label}-{name}", marks=marks(setting, name))
        for setting, name in runs()
    ],
)
def test_program(run_under: RunUnder, setting: harness.Setting, name: str) -> None:
    passes(run_under, setting, name)


def different_locks() -> str:
    """Return a plan of locks that park, since many threads wait in the programs, and two others."""
    names = locate.lock_names()
    parking = [name for name in names if name != "pthread" and locate.traits(name)["parking"]]
    return " ".join(["D", *parking, *(name for name in ("ttas", "hmcs") if name in names)])


#: Plans as `lockwright run --plan` gives them to the library of all locks.
PLANS = {"one lock after the other": different_locks, "the C library's own": "D pthread".format}
PLANNED = [(plan, name) for plan in PLANS for name in PROGRAMS]
#: Of the second plan, the programs whose calls read which lock a mutex has.
SHORT = [
    (plan, name)
    for plan, name in PLANNED
    if plan == "one lock after the other" or name in ("trylock", "types", "timedlock", "fork")
    or name.startswith(("cond_", "c_library"))
]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "name"), tiers.short(PLANNED, SHORT, "the library of that lock runs the others")
)
def test_program_under_a_plan(run_under: RunUnder, plan: str, name: str) -> None:
    # No mutex matches the entry, but each is looked up.
    text = f"M {name}\n{PLANS[plan]()}\nE 2 - pthread\nR 0 0 1\n"
    setting = harness.Setting("mixed", {"LOCKWRIGHT_PLAN": text})
    passes(run_under, setting, name)


def passes(run_under: RunUnder, setting: harness.Setting, name: str) -> None:
    outcome = run_under(setting, [locate.program("posix", name)]).succeeded()
    # The lock adds no output to the program's.
    lines = outcome.stdout.splitlines()
    assert lines, outcome.describe()
    assert all(line.startswith("ok: ") for line in lines), outcome.describe()
    assert outcome.stderr == "", outcome.describe()


def test_every_program_is_run() -> None:
    sources = {path.stem for path in (locate.TESTS / "posix").glob("*.c*")}
    helpers = {"first_library", "plugin", "wraps_lock", "locking_malloc", "watched", "broken"}
    helpers |= {"counted", "old_versions", "order_of_wakes", "steps", "detours", "moved_clock"}
    helpers |= {"misplaced_number", "passing", "reading_for_a_reader", "stops"}
    # These have separate tests.
    by_setting = {"semaphores", "spins", "other_clock", "realtime"}
    assert sources - helpers - by_setting == set(PROGRAMS)
    assert set(PROGRAMS) > ON_EACH_MACHINE
    every = {(lock, name) for lock in [harness.LIBC, *locate.lock_names()] for name in PROGRAMS}
    assert {(setting.lock, name) for setting, name in runs()} == every
