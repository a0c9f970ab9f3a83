"""The locks' own source on a model checker: every interleaving, or as many as a bound allows.

Each test builds `model-check` if it is not up to date. Budgets are seconds for one search; a slower
machine searches less far, and says so in its table, but nothing passes or fails by its speed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support import locate

RELACY = Path("relacy/relacy.hpp")

#: The C library's mutex comes without its source. The reader-writer lock stands in no registry.
LOCKS = [*(name for name in locate.lock_names() if name != "pthread"), "phase-fair"]

#: Seconds for one search.
BUDGET = os.environ.get("LOCKWRIGHT_MODEL_BUDGET", "0.7")

#: Their mutants are caught so quickly that every run tries them all; with a larger budget, all are.
LIGHT = ["futex", "spinlock", "ttas", "backoff", "ticket", "mcs-spin", "clh-spin"]
MUTATED = LIGHT if float(BUDGET) < 2 else LOCKS

GATE = (
    "the counts of active threads and the gate say who waits and until when, not who is inside; "
    "who waits at the gate leaves it in the end by its deadline"
)

#: Mutants that no scenario can find, by file and change, and why.
EXPLAINED = {
    ("hmcs.hpp", "store dropped"): (
        "the counts of passes in a leaf bound unfairness; exclusion does not depend on them"
    ),
    ("pthreadadapt.hpp", "store dropped"): "how often others had to try is advice",
    ("biased.hpp", "wake dropped"): "the revoking thread looks again after a while anyhow",
    ("biased.hpp", "read-modify-write in two steps"): "as a wake that does not come",
    ("biased.hpp", "load acquire -> relaxed"): (
        "matters where another thread unlocks for the owner, which no scenario does"
    ),
    ("cna.hpp", "compare-and-swap release -> relaxed"): (
        "revive(): an arriving thread sets the null link that was set before; that a store may "
        "take effect before an earlier one of another thread is not modelled"
    ),
    ("k42_mcs.hpp", "compare-and-swap release -> relaxed"): (
        "replace(): the same, of the lock's own link"
    ),
    ("hemlock.hpp", "compare-and-swap in two steps"): (
        "the claim of a word by two threads that unlock what a third one has locked, which no "
        "scenario does; hemlock_test does"
    ),
    ("fissile.hpp", "store dropped"): (
        "impatience that stays keeps arriving threads from overtaking; exclusion does not depend "
        "on it"
    ),
    **{
        ("shfllock.hpp", what): (
            "three threads form no queue in which anybody is moved: the holder, the first, and the "
            "last, which stays where it is; numa_queue_test moves them"
        )
        for what in (
            "store dropped",
            "store release -> relaxed",
            "load acquire -> relaxed",
            "read-modify-write release -> relaxed",
        )
    },
    ("mutable.hpp", "read-modify-write in two steps"): (
        "two unlocks give permits at once only where two threads sleep: four threads"
    ),
    ("mutexee.hpp", "store dropped"): "the tally chooses how long to poll and to wait, no more",
    **{
        ("crowding.hpp", what): "what is known of the load is advice"
        for what in ("store dropped", "compare-and-swap in two steps")
    },
    ("glk.hpp", "store dropped"): (
        "the choice of a lock: the one in use would do for ever; glk_test sees it change"
    ),
    ("gcr.hpp", "store dropped"): GATE,
    ("gcr.hpp", "read-modify-write in two steps"): GATE,
    ("gcr.hpp", "compare-and-swap in two steps"): GATE,
    ("gcr.hpp", "wake dropped"): GATE,
    ("mcs_timepub.hpp", "store dropped"): (
        "the times decide who is passed over; whoever is has to queue again, and gets in"
    ),
    ("mcscr.hpp", "compare-and-swap release -> relaxed"): (
        "when a passive node is grafted onto the end, a newcomer's link has to come after the null "
        "in the node's next; in the model a store always comes last"
    ),
}

#: The same for what one lock alone does not need of a part that others need it of.
EXPLAINED_FOR = {
    "glk": {
        **{
            ("lazy_part.hpp", what): "only who is inside makes the part, so no two threads do"
            for what in (
                "compare-and-swap, failing, acquire -> relaxed",
                "compare-and-swap in two steps",
            )
        },
        **{
            ("mcs.hpp", what): (
                "the trylock of the queue while others come, further than the search gets; "
                "mcs-spin has the same line for itself, and needs it"
            )
            for what in (
                "compare-and-swap acq_rel -> acquire",
                "compare-and-swap acq_rel -> release",
                "compare-and-swap in two steps",
            )
        },
    },
    "clof": {
        ("mcs.hpp", "compare-and-swap acq_rel -> release"): (
            "the trylock at the lowest level: what it protects was also let go with the locks "
            "above, which the trylock has to take too"
        ),
    },
    "parking-lot": {
        ("wordlock.hpp", "store release -> relaxed"): (
            "sleepers at the door of a bucket: it takes more threads than the search gets through; "
            "wordlock has the same line for itself, and needs it"
        ),
    },
    "go-mutex": {
        ("go_mutex.hpp", "read-modify-write in two steps"): (
            "a thread that comes while a starving mutex is handed over would be lost: three "
            "threads, one of which has starved, further than the search gets"
        ),
    },
    "fissile": {
        ("cna.hpp", what): (
            "one of three threads holds the outer lock and one the inner, so the queue is too "
            "short for anybody to be set aside; numa_queue_test has longer ones"
        )
        for what in ("store dropped", "load acquire -> relaxed")
    },
    "phase-fair": {
        ("phase_fair.hpp", "compare-and-swap acq_rel -> acquire"): (
            "announce(): the store to front_ has to come before the grant; in the model a store "
            "takes effect when it is made"
        ),
        **{
            ("three_state.hpp", what): (
                "the door: all it protects is front_, whose stores take effect when they are made"
            )
            for what in (
                "compare-and-swap acquire -> relaxed",
                "read-modify-write acquire -> relaxed",
                "read-modify-write release -> relaxed",
            )
        },
        ("three_state.hpp", "read-modify-write in two steps"): (
            "two that wait at the door, one until a deadline, and one that leaves it: four threads"
        ),
    },
    "c-ptl-tkt": {
        ("ticket.hpp", "read-modify-write acquire -> relaxed"): (
            "the trylock at the local lock: what it protects was also let go with the global lock, "
            "which the trylock has to take too; c-tkt-tkt has the same line for both, and needs it"
        ),
    },
}

ROW = re.compile(r"^(\S+) +(\S+) +(\d) +(\d+) +(\S+) +([\d.]+)  (.+)$")


@cache
def checker() -> Path:
    """Builds the checker; one process at a time."""
    places = [Path(p) for p in os.environ.get("CPATH", "").split(":") if p]
    if not any((p / RELACY).exists() for p in [*places, Path("/usr/include")]):
        pytest.skip(
            "the model checker Relacy is not installed (Debian: apt-get install relacy-dev)"
        )
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed, and the checker has to be built")
    build = locate.ROOT / "build/model"
    build.mkdir(parents=True, exist_ok=True)
    with (build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (
            [
                "cmake",
                "--preset",
                "model",
                f"-DLOCKWRIGHT_ONLY={os.environ.get('LOCKWRIGHT_ONLY', '')}",
            ],
            ["cmake", "--build", "--preset", "model", "--target", "model_check", "-j2"],
        ):
            done = subprocess.run(
                command, cwd=locate.ROOT, capture_output=True, text=True, timeout=280, check=False
            )
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return build / "tests/model/model-check"


def run(*arguments: str, timeout: float = 240) -> tuple[int, str]:
    done = subprocess.run(
        [checker(), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def table(*arguments: str) -> list[tuple[str, int, str, str]]:
    """Scenario, threads, extent and verdict of each row."""
    _, text = run("locks", *arguments)
    print(text)  # The bounds that were reached, for `pytest -s` and for failures.
    rows = [match for line in text.splitlines() if (match := ROW.match(line))]
    assert len(rows) == len(text.splitlines()) - 1, text
    return [(m[2], int(m[3]), m[5], m[7]) for m in rows]


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("lock", LOCKS)
def test_no_interleaving_breaks_the_lock(lock: str, threads: int) -> None:
    rows = table("--only", lock, "--threads", str(threads), "--budget", BUDGET)
    assert rows, f"no scenario was run for {lock}"
    for scenario, _, extent, verdict in rows:
        assert verdict == "passed", f"{lock}: {scenario} ({extent}): {verdict}"


def test_every_broken_lock_is_found() -> None:
    """The checker can fail: locks with one classic fault each are all caught."""
    status, text = run("broken", "--budget", "5")
    assert status == 0, text
    lines = text.splitlines()
    assert len(lines) >= 10, text
    assert not [line for line in lines if "MISSED" in line], text


@pytest.mark.parametrize("lock", MUTATED)
def test_every_weakened_order_and_dropped_statement_is_found(lock: str) -> None:
    """Each order and each store matters to some scenario, or it is explained why not."""
    _, text = run("mutants", "--only", lock, "--budget", str(max(2.0, float(BUDGET))), timeout=1500)
    lines = text.splitlines()
    assert len(lines) > 3, text
    explained = EXPLAINED | EXPLAINED_FOR.get(lock, {})
    unexplained = []
    for line in lines[:-1]:
        if line.endswith(" survived"):
            file, what = re.split(r":\d+ ", line.split(maxsplit=1)[1].removesuffix("survived"))
            if (file, what.strip()) not in explained:
                unexplained.append(line)
    assert not unexplained, text


def test_the_source_of_a_failure_is_shown() -> None:
    """A trace names the line of the lock at which each step was made."""
    _, text = run("broken", "--only", "test-then-set", "--trace")
    step = r"thread 1: .*atomic store, value=1.*order=relaxed +broken\.hpp\(\d+\)"
    assert re.search(step, text), text
