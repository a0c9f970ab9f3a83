"""Every POSIX program passes under every lock, as it does under the C library itself, and where
each mutex has another lock than the one before it."""

from collections.abc import Iterator

import pytest
from support import harness, locate
from support.harness import RunUnder

#: Program, and what it proves.
PROGRAMS = {
    "exclusion": "two unprotected counters stay in step",
    "trylock": "trylock refuses while held, takes what is free, leaves the queue alone",
    "nesting": "many mutexes held at once, released in any order",
    "many_threads": "200 threads on two cores, and a thousand asleep",
    "static_init": "static initialisers of every type, first used by many threads at once",
    "reuse": "memory of mutexes used again, zeroed, initialised twice, freed by the last user",
    "abandoned": "mutexes that nobody destroys leave no memory behind, and copied ones are apart",
    "no_memory": "mutexes go on working when the kernel gives no memory",
    "types": "recursive, error-checking and adaptive mutexes keep their promises",
    "c_library_kinds": "shared, robust and priority mutexes go on working",
    "cond_queue": "producers and consumers, and no wake-up lost in 100,000 rounds",
    "cond_wake": "broadcast wakes all, signal one, nobody wakes without cause",
    "cond_timed": "timed waits on both clocks, and signals that race with the timeout",
    "cond_types": "condition variables with every mutex type",
    "cond_cancel": "a cancelled waiter holds the mutex and swallows no signal",
    "churn": "10,000 short threads leave no memory behind",
    "migrate": "mutexes released by another thread leave no memory behind",
    "timedlock": "timed locks give up when asked and never otherwise",
    "threads_h": "the mutexes and condition variables of C11",
    "barriers": "barriers and once, which stay the C library's",
    "c11": "every function of C11's threads.h, in C",
    "cpp20": "every class of C++20 that locks, waits or is waited for",
    "fork": "a child can use the mutexes that its parent held or queued for",
    "fork_first_use": "a child does not wait for what its parent was making ready",
    "started_programs": "other programs started in every way while mutexes are contended",
    "async_cancel": "threads cancelled within a lock call leave other mutexes usable",
    "thread_ends": "threads that end while they hold mutexes",
    "raw_clone": "the child of a raw clone() corrects the number that mutexes name as owner",
    "own_getenv": "a program may have a getenv() of its own, which locks",
    "no_gettid": "locks work where asking the kernel for the thread's number ends the process",
    "plugins": "libraries loaded and unloaded that lock, alone and with the program",
    "busylock": "a lock call that does not sleep has the results of one that does",
    "early_and_late": "mutexes work before main, in destructors, and while others wait at exit",
}

#: Those about who gets a mutex and what memory its lock takes, which depend on the NUMA nodes: they
#: are run on each declared machine. The others are run on the one with most nodes.
ON_EACH_MACHINE = {
    "exclusion",
    "trylock",
    "nesting",
    "many_threads",
    "static_init",
    "reuse",
    "churn",
    "migrate",
    "abandoned",
    "no_memory",
    "timedlock",
    "fork",
    "fork_first_use",
    "thread_ends",
    "busylock",
}


def runs() -> Iterator[tuple[harness.Setting, str]]:
    most = harness.all_settings(least_nodes=max(harness.NODES.values()))
    for setting in harness.all_settings():
        for name in PROGRAMS:
            if name in ON_EACH_MACHINE or setting in most:
                yield setting, name


@pytest.mark.parametrize(
    ("setting", "name"), [pytest.param(*run, id=f"{run[0].label}-{run[1]}") for run in runs()]
)
def test_program(run_under: RunUnder, setting: harness.Setting, name: str) -> None:
    passes(run_under, setting, name)


def spread() -> str:
    """A plan of locks that sleep, since many threads wait in these programs, and two that poll."""
    names = locate.lock_names()
    sleep = [name for name in names if name != "pthread" and locate.traits(name)["parking"]]
    return " ".join(["D", *sleep, *(name for name in ("ttas", "hmcs") if name in names)])


#: What `lockwright run --plan` would tell the library of all mutexes.
PLANS = {"one lock after the other": spread, "the C library's own": "D pthread".format}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("plan", PLANS)
def test_program_under_a_plan(run_under: RunUnder, plan: str, name: str) -> None:
    # The entry is about no mutex, but each is looked up for it.
    text = f"M {name}\n{PLANS[plan]()}\nE 2 - pthread\nR 0 0 1\n"
    setting = harness.Setting("mixed", {"LOCKWRIGHT_PLAN": text})
    passes(run_under, setting, name)


def passes(run_under: RunUnder, setting: harness.Setting, name: str) -> None:
    outcome = run_under(setting, [locate.program("posix", name)])
    assert outcome.status == 0, outcome.describe()
    # The lock adds nothing to what the program itself says.
    lines = outcome.stdout.splitlines()
    assert lines, outcome.describe()
    assert all(line.startswith("ok: ") for line in lines), outcome.describe()
    assert outcome.stderr == "", outcome.describe()


def test_every_program_is_run() -> None:
    sources = {path.stem for path in (locate.TESTS / "posix").glob("*.c*")}
    helpers = {"first_library", "plugin", "wraps_lock", "locking_malloc", "watched", "broken"}
    helpers |= {"counted", "old_versions", "order_of_wakes", "steps", "detours", "moved_clock"}
    helpers |= {"misplaced_number"}
    # These have tests of their own.
    by_setting = {"semaphores", "spins", "other_clock", "realtime", "hoard"}
    assert sources - helpers - by_setting == set(PROGRAMS)
    assert set(PROGRAMS) > ON_EACH_MACHINE
    every = {(lock, name) for lock in [harness.LIBC, *locate.lock_names()] for name in PROGRAMS}
    assert {(setting.lock, name) for setting, name in runs()} == every
