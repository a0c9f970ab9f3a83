"""The counting library counts the operations of a known program exactly, under every lock."""

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.preload import counters
from support import locate, tiers
from support.harness import Outcome, RunUnder

LOCKS = locate.lock_names()
#: The C library's own waiters sleep in calls that the library does not count.
COUNTED = [lock for lock in LOCKS if lock != "pthread"]
SLEEPING = [
    lock for lock in COUNTED if locate.traits(lock)["waiting"] in ("park", "spin then park")
]
#: Load control parks threads even if its waiters spin.
SPINNING = [
    lock
    for lock in COUNTED
    if locate.traits(lock)["waiting"] in ("spin", "spin with backoff")
    and locate.traits(lock)["category"] != "load control"
]
#: The first words of the note about more memory.
MUCH_MEMORY = "lockwright: mutexes take 64 MiB"


@dataclass(frozen=True)
class Counts:
    """The sums over all stripes, and the two counts of the header."""

    mutexes: int = 0
    acquisitions: int = 0
    contended: int = 0
    cond_waits: int = 0
    failed_trylocks: int = 0
    library: int = 0
    reads: int = 0
    writes: int = 0
    spins: int = 0
    rwlocks: int = 0
    processes: int = 1
    unresolved: int = 0


def read(path: Path) -> tuple[Counts, int, int]:
    """Return the counts of the file, futex waits and futex wakes."""
    found = counters.read(path)
    names = {field.name: field.name for field in fields(Counts)} | {"library": "handed_over"}
    counts = Counts(**{name: getattr(found, name_there) for name, name_there in names.items()})
    return counts, found.futex_waits, found.futex_wakes


@pytest.fixture
def stats() -> Iterator[Path]:
    with counters.counters_file() as path:
        yield path


class Counted(Protocol):
    """A function that runs the program `counted` with the counting library of a lock."""

    def __call__(self, lock: str, *words: object, **variables: str) -> Outcome: ...


@pytest.fixture
def counted(run_under: RunUnder, stats: Path) -> Counted:
    def run(lock: str, *words: object, **variables: str) -> Outcome:
        argv = [str(locate.program("posix", "counted")), *map(str, words)]
        env = {"LOCKWRIGHT_STATS": str(stats), **variables}
        return run_under(lock, argv, counting=True, env=env)

    return run


#: Arguments of the program, and the expected counts.
KNOWN: dict[str, tuple[Sequence[object], Counts]] = {
    "nothing": ([], Counts()),
    "locks": (["locks", 7, 100], Counts(mutexes=7, acquisitions=700)),
    "many mutexes": (["locks", 5000, 1], Counts(mutexes=5000, acquisitions=5000)),
    "trylocks": (
        ["trylock", 40, 9],
        Counts(mutexes=1, acquisitions=41, failed_trylocks=9),
    ),
    "timed locks": (["timedlock", 20], Counts(mutexes=1, acquisitions=21)),
    "recursive": (["recursive", 12], Counts(mutexes=1, acquisitions=12)),
    "contended": (["contended", 6], Counts(mutexes=1, acquisitions=12, contended=6)),
    "condition variable": (
        ["wait", 8],
        Counts(mutexes=1, acquisitions=16, cond_waits=8),
    ),
    "timeouts": (["timeout", 5], Counts(mutexes=1, acquisitions=1, cond_waits=5)),
    "initialised again": (["reinit", 30], Counts(mutexes=30, acquisitions=30)),
    "left to the C library": (["shared", 25], Counts(library=25)),
    "everything": (
        ["locks", 3, 10, "trylock", 5, 2, "recursive", 4, "contended", 2, "wait", 3, "shared", 6],
        Counts(
            mutexes=7,
            acquisitions=30 + 6 + 4 + 4 + 6,
            contended=2,
            cond_waits=3,
            failed_trylocks=2,
            library=6,
        ),
    ),
    # A child uses the parent's loaded library; a new program loads its own.
    "in a child": (
        ["locks", 2, 10, "fork", "locks", 3, 10],
        Counts(mutexes=5, acquisitions=50, processes=2),
    ),
    "in a new program": (
        ["locks", 2, 10, "exec", "locks", 3, 10],
        Counts(mutexes=5, acquisitions=50),
    ),
    "in a child's new program": (
        ["locks", 1, 10, "fork", "locks", 1, 20, "exec", "fork", "exec", "contended", 2],
        Counts(mutexes=3, acquisitions=34, contended=2, processes=3),
    ),
}


COUNTERS = "the counters are in the preload library"
SAMPLED = pytest.mark.sampled(COUNTERS, memory=False)


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("lock", LOCKS)
@SAMPLED
def test_counts(counted: Counted, stats: Path, lock: str, case: str) -> None:
    words, expected = KNOWN[case]
    outcome = counted(lock, *words).succeeded()
    assert outcome.stdout == ""
    outside = locate.traits(lock)["bytes_per_mutex_outside"]
    assert isinstance(outside, int)
    notes = [MUCH_MEMORY] if expected.mutexes * outside > 64 << 20 else []
    assert [line.partition(" of memory")[0] for line in outcome.stderr.splitlines()] == notes
    counts, _, _ = read(stats)
    assert counts == expected


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Counts(rwlocks=12)),
        ({"LOCKWRIGHT_RWLOCK": "mutex"}, Counts(reads=13, writes=5)),
        ({"LOCKWRIGHT_RWLOCK": "phase-fair"}, Counts(reads=13, writes=5)),
        ({"LOCKWRIGHT_SPIN": "mutex"}, Counts(spins=9, rwlocks=12)),
    ],
)
def test_interposed_other_locks_are_counted(
    counted: Counted, stats: Path, variables: dict[str, str], expected: Counts
) -> None:
    counted("ttas", "rwlock", 13, 5, "spin", 9, **variables).succeeded()
    assert read(stats)[0] == expected


@pytest.mark.parametrize("lock", SLEEPING)
@SAMPLED
def test_sleeps_until_a_deadline_are_counted(counted: Counted, stats: Path, lock: str) -> None:
    counted(lock, "timedlock", 1).succeeded()
    _, waits, _ = read(stats)
    assert waits > 0


@pytest.mark.parametrize("lock", LOCKS)
@SAMPLED
def test_counts_survive_a_kill(counted: Counted, stats: Path, lock: str) -> None:
    outcome = counted(lock, "locks", 4, 250, "kill")
    assert outcome.status == -signal.SIGKILL
    assert read(stats)[0] == Counts(mutexes=4, acquisitions=1000)


@pytest.mark.parametrize("lock", LOCKS)
@SAMPLED
def test_counts_of_two_runs_are_summed(counted: Counted, stats: Path, lock: str) -> None:
    for _ in range(2):
        counted(lock, "locks", 2, 5)
    assert read(stats)[0] == Counts(mutexes=4, acquisitions=20, processes=2)


@pytest.mark.parametrize(
    "damage",
    ["absent", "empty", "too short", "foreign", "a directory", "not asked for"],
)
def test_a_file_of_another_format_is_not_changed(
    run_under: RunUnder, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "stats"
    env = {"LOCKWRIGHT_STATS": str(path)}
    content = {"empty": b"", "too short": b"LWSTATS\0", "foreign": b"x" * (1 << 20)}.get(damage)
    if content is not None:
        path.write_bytes(content)
    elif damage == "a directory":
        path.mkdir()
    elif damage == "not asked for":
        env = {}
    outcome = run_under(
        "mcs-stp", [locate.program("posix", "counted"), "locks", "2", "5"], counting=True, env=env
    ).succeeded()
    assert outcome.stdout == ""
    if content is not None:
        assert path.read_bytes() == content


def test_a_library_of_another_layout_is_refused(counted: Counted, stats: Path) -> None:
    """It writes the number of its layout and no counts."""
    before = bytearray(stats.read_bytes())
    before[8] ^= 1
    stats.write_bytes(before)
    counted("mcs-stp", "locks", 2, 5)
    before[8] ^= 1
    assert stats.read_bytes() == before
    before[8] ^= 1
    stats.write_bytes(before)
    with pytest.raises(LockwrightError, match="does not belong to the loaded library"):
        read(stats)


@pytest.mark.parametrize("lock", LOCKS)
@SAMPLED
def test_the_plain_library_counts_nothing(run_under: RunUnder, stats: Path, lock: str) -> None:
    before = stats.read_bytes()
    run_under(
        lock,
        [locate.program("posix", "counted"), "locks", "2", "5"],
        env={"LOCKWRIGHT_STATS": str(stats)},
    )
    assert stats.read_bytes() == before


@pytest.mark.parametrize("name", ["cond_cancel", "cond_timed", "types"])
@pytest.mark.parametrize("lock", LOCKS)
@SAMPLED
def test_the_counting_library_is_as_correct_as_the_plain_one(
    run_under: RunUnder, stats: Path, lock: str, name: str
) -> None:
    run_under(
        lock,
        [locate.program("posix", name)],
        90,
        counting=True,
        env={"LOCKWRIGHT_STATS": str(stats)},
    ).clean()
    assert read(stats)[0].acquisitions > 0


@pytest.mark.parametrize("lock", SLEEPING)
@pytest.mark.sampled(COUNTERS)
def test_a_handover_to_a_parked_waiter_is_one_wake(
    counted: Counted, stats: Path, lock: str
) -> None:
    times = 20
    # No waiter polls first, by any of the locks' bounds.
    bounds = {
        "LOCKWRIGHT_SPIN_NS": "0",
        "LOCKWRIGHT_SPIN_TRIES": "0",
        "LOCKWRIGHT_MOST_AWAKE": "1",
    }
    counted(lock, "contended", times, **bounds)
    counts, waits, wakes = read(stats)
    assert counts.contended == times
    assert waits >= times
    if locate.traits(lock)["category"] == "direct handoff":
        assert wakes == times
    else:
        # A woken thread may not know that no other thread sleeps, and wakes at its release too.
        assert times <= wakes <= 2 * times


@pytest.mark.parametrize("lock", SPINNING)
@SAMPLED
def test_a_spinning_lock_makes_no_futex_call(counted: Counted, stats: Path, lock: str) -> None:
    counted(lock, "locks", 3, 100, "contended", 5)
    _, waits, wakes = read(stats)
    assert (waits, wakes) == (0, 0)


@pytest.mark.parametrize(
    "lock", tiers.short(["mcs-stp", "clh-stp"], ["mcs-stp"], "the short run builds no counting one")
)
def test_a_handover_to_a_spinner_makes_no_futex_call(
    counted: Counted, stats: Path, lock: str
) -> None:
    counted(lock, "contended", 5, LOCKWRIGHT_SPIN_NS="100000000000")
    counts, waits, wakes = read(stats)
    assert counts.contended == 5
    assert (waits, wakes) == (0, 0)
