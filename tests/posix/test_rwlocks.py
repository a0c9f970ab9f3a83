"""Reader-writer locks: the C library's, a mutex algorithm, and those of the registry."""

import json
from functools import cache

import pytest
from support import harness, locate, tiers
from support.harness import RunUnder

VARIABLE = "LOCKWRIGHT_RWLOCK"
#: A lock of each kind: the C library's, locks whose waiters can give up, locks with queue nodes,
#: with parts outside the mutex, and with passive sets.
MUTEXES = [
    "pthread", "futex", "ttas", "ticket", "mcs-stp", "clh-stp", "mcs-try", "hmcs", "parking-lot",
    "malth-stp", "biased-futex", "shfllock-stp",
]  # fmt: skip
#: Locks in whose queue threads with a deadline have their place.
DEADLINES_QUEUE = ["mcs-rw"]
SETTINGS = [
    (harness.LIBC, ""),
    ("mcs-stp", ""),
    ("mcs-stp", "keep"),
    *((lock, "mutex") for lock in MUTEXES),
    *(("pthread", name) for name in locate.rwlock_names()),
    ("mcs-stp", "phase-fair"),
]


@cache
def guarantees() -> dict[str, str]:
    """Return the guarantee that the program may test, by the value of the variable."""
    rows = json.loads((locate.preload_dir() / "rwlocks.json").read_text())
    return {"mutex": "exclusive"} | {row["name"]: row["preference"] for row in rows}


def environment(value: str) -> dict[str, str]:
    promise = guarantees().get(value)
    return (
        {VARIABLE: value}
        | ({"LOCKWRIGHT_TEST_RWLOCK": promise} if promise else {})
        | ({"LOCKWRIGHT_TEST_QUEUES": "1"} if value in DEADLINES_QUEUE else {})
    )


def test_a_reader_may_wait_for_another_reader(run_under: RunUnder) -> None:
    """Under the default, as under the C library, although writers wait, but not under the kind
    that lets no reader pass a writer that waits."""
    program = locate.program("posix", "reading_for_a_reader")
    for lock, env in ((harness.LIBC, {}), ("adaptive", {VARIABLE: "adaptive-rw"})):
        assert run_under(lock, [program], env=env).clean().stdout == "read\n"
        assert run_under(lock, [program, "kind"], env=env).clean().stdout == "kept out\n"


#: The mutexes are tested as such; two of them also as reader-writer locks.
SOME = [each for each in SETTINGS if each[1] != "mutex" or each[0] in ("pthread", "mcs-stp")]


@pytest.mark.parametrize(
    ("lock", "value"), tiers.short(SETTINGS, SOME, "each lock runs the programs of mutexes")
)
def test_program(run_under: RunUnder, lock: str, value: str) -> None:
    if lock != harness.LIBC and lock not in locate.lock_names():
        pytest.skip(f"{lock} is not built")
    classes = ["mutexes", *(["shared mutexes"] if value != "mutex" else [])]
    for words in (["rwlocks"], ["cpp20", *classes]):
        program = locate.program("posix", words[0])
        run_under(lock, [program, *words[1:]], env=environment(value)).clean()


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize(
    ("value", "case"),
    [
        ("mutex", "readers together"),
        ("phase-fair", "phases"),
        ("futex-rw", "a reader beside a waiting writer"),
    ],
)
def test_the_setting_has_an_effect(
    run_under: RunUnder, value: str, case: str, counting: bool
) -> None:
    """The guarantee of one setting does not hold with another."""
    program = locate.program("posix", "rwlocks")
    run_under("mcs-stp", [program, case], counting=counting, env=environment(value)).succeeded()
    other = run_under("mcs-stp", [program, case], env={**environment(value), VARIABLE: "keep"})
    assert other.status == 1, other.describe()


@pytest.mark.parametrize("value", ["keeps", "MUTEX", "1", "phase_fair"])
def test_an_invalid_value_is_reported_and_not_used(run_under: RunUnder, value: str) -> None:
    program = locate.program("posix", "rwlocks")
    outcome = run_under(
        "pthread", [program, "a reader beside a waiting writer"], env={VARIABLE: value}
    ).succeeded()
    words = ["keep", "mutex", *locate.rwlock_names()]
    assert outcome.stderr.splitlines() == [
        f"lockwright: {VARIABLE}='{value}' is not one of {', '.join(words)}; it is not used"
    ]
