"""The source of the locks on a model checker: every interleaving, or as many as a bound allows.

Each test builds `model-check` if it is out of date. Budgets are seconds for one search; a slower
machine tries fewer interleavings, and its table states that; no test fails because of its speed.
"""

import csv
import fcntl
import json
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest
from support import locate, model, mutants
from support.processes import captured

RELACY = Path("relacy/relacy.hpp")

#: Other objects that are checked.
OTHERS = [
    *locate.rwlock_names(),
    "condvar-futex",
    "condvar-ttas",
    "condvar-adaptive",
    "timed-adaptive",
    "timed-ticket",
    "signalled-queue",
    "semaphore",
]

#: All but the C library's mutex, which is not in source form.
LOCKS = [*(name for name in locate.lock_names() if name != "pthread"), *OTHERS]

#: Seconds for one search.
BUDGET = os.environ.get("LOCKWRIGHT_MODEL_BUDGET", "0.5" if locate.all_tests() else "0.05")

#: Locks whose mutants are caught so quickly that every run tries them; a larger budget tries all.
LIGHT = [
    "futex",
    "spinlock",
    "ttas",
    "backoff",
    "ticket",
    "mcs-spin",
    "clh-spin",
    "signalled-queue",
]
MUTATED = [name for name in LOCKS if name in LIGHT or float(BUDGET) >= 2]


@cache
def checker() -> Path:
    """Build the checker, in one process at a time, and return its path."""
    folders = [Path(p) for p in os.environ.get("CPATH", "").split(":") if p]
    if not any((p / RELACY).exists() for p in [*folders, Path("/usr/include")]):
        pytest.skip("the model checker Relacy is missing (Debian: apt-get install relacy-dev)")
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed, and the checker has to be built")
    build = locate.ROOT / "build/model"
    build.mkdir(parents=True, exist_ok=True)
    with (build / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        only = os.environ.get("LOCKWRIGHT_ONLY", "")
        for options in (
            ["--preset", "model", f"-DLOCKWRIGHT_ONLY={only}"],
            ["--build", "--preset", "model", "--target", "model_check", "-j2"],
        ):
            result = captured(["cmake", *options], cwd=locate.ROOT, timeout=280)
            assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return model.PROGRAM


def run(*arguments: str, timeout: float = 240) -> tuple[int, str]:
    result = captured([checker(), *arguments], timeout=timeout)
    assert result.stderr == "", result.stderr
    return result.returncode, result.stdout


def table(*arguments: str) -> list[model.Row]:
    _, text = run("locks", *arguments)
    print(text)  # The bounds that were reached; for `pytest -s` and for failures.
    rows = model.rows(text)
    assert len(rows) == len(text.splitlines()) - 1, text
    return rows


#: Of more threads than two, a search within the budget sees a small part.
MORE = pytest.mark.sampled("with more threads than two the search is a sample")


@pytest.mark.parametrize(
    "threads", [pytest.param((2,), id="2"), pytest.param((3, 4, 5), id="more", marks=MORE)]
)
@pytest.mark.parametrize("lock", LOCKS)
def test_no_interleaving_breaks_the_lock(lock: str, threads: tuple[int, ...]) -> None:
    # The other objects have more programs.
    budget = str(float(BUDGET) / 4) if lock in OTHERS else BUDGET
    rows = [
        row
        for number in threads
        for row in table("--only", lock, "--threads", str(number), "--budget", budget)
    ]
    assert rows, f"no scenario was run for {lock}"
    for row in rows:
        assert row.verdict == "passed", f"{lock}: {row.scenario} ({row.extent}): {row.verdict}"


def test_every_broken_lock_is_found() -> None:
    """Locks with one classic fault each are all caught."""
    status, text = run("broken", "--budget", "2")
    assert status == 0, text
    lines = text.splitlines()
    assert len(lines) >= 10, text
    assert not [line for line in lines if "MISSED" in line], text


@pytest.mark.parametrize("lock", MUTATED)
def test_every_weakened_order_and_dropped_statement_is_found(lock: str) -> None:
    """Each order and each store is necessary in some scenario, or explained."""
    arguments = mutants.arguments(lock, max(2.0, float(BUDGET)))
    _, text = run(*arguments, "--only", lock, timeout=1500)
    found = mutants.parse(text)
    assert len(found) == len(text.splitlines()) - 1 > 2, text
    unexplained = [m for m in found if not m.caught and not mutants.explained(m)]
    assert not unexplained, "\n".join(map(str, unexplained))


def test_the_explanations_belong_to_statements() -> None:
    """Nor is an explanation malformed."""
    assert mutants.explanations()


SOURCE = """
  void unlock() {
    // Release pairs with the acquire in lock().
    word_.store(0, std::memory_order_release);
    while (!word_.compare_exchange_strong(a, b, std::memory_order_release,
                                          std::memory_order_relaxed)) {
      a = 0;
    }
    other_.store(1);  // said here
    a = 0;
  }
"""

SURVIVORS = {
    "word_.store(0, std::memory_order_release);": [
        "dropped, release -> relaxed: it is only advice."
    ],
    "while (!word_.compare_exchange_strong(a, b, std::memory_order_release,": [
        "in ttas, backoff: in two steps: why"
    ],
    "other_.store(1);  // said here\na = 0;": "dropped: it is the second one",
}


def mutant(lock: str, line: int, change: str, caught: str = "") -> mutants.Mutant:
    return mutants.Mutant(lock, "a.hpp", line, "store", change, caught)


def test_an_explanation_covers_its_statement_and_no_other() -> None:
    by = list(mutants.explanations_in("a.hpp", SOURCE, SURVIVORS))
    assert [(each.first, each.last) for each in by] == [(4, 4), (5, 6), (10, 10)]
    assert by[0].reason == "it is only advice."
    assert mutants.explained(mutant("ttas", 4, "dropped"), by)
    assert mutants.explained(mutant("ttas", 4, "release -> relaxed"), by)
    assert not mutants.explained(mutant("ttas", 4, "in two steps"), by)
    assert not mutants.explained(mutant("ttas", 10, "release -> relaxed"), by)
    assert mutants.explained(mutant("ttas", 6, "in two steps"), by)
    assert mutants.explained(mutant("backoff", 5, "in two steps"), by)
    assert not mutants.explained(mutant("mcs-spin", 5, "in two steps"), by)
    assert "a.hpp:6 in two steps" in mutants.covered("ttas", by)
    assert not [text for text in mutants.covered("mcs-spin", by) if "in two steps" in text]


@pytest.mark.parametrize(
    ("statement", "explanation"),
    [
        ("other_.store(1);  // said here", "lost: it is no change"),
        ("a = 0;", "dropped: there are two"),
        ("b = 0;", "dropped: there is none"),
    ],
)
def test_a_malformed_explanation_is_refused(statement: str, explanation: str) -> None:
    with pytest.raises(mutants.Malformed):
        list(mutants.explanations_in("a.hpp", SOURCE, {statement: explanation}))


def test_an_explanation_of_a_caught_or_missing_mutant_is_stale() -> None:
    by = list(mutants.explanations_in("a.hpp", SOURCE, SURVIVORS))
    expected = [
        mutant("ttas", 4, "dropped"),
        mutant("ttas", 4, "release -> relaxed"),
        mutant("backoff", 5, "in two steps"),
        mutant("mcs-spin", 5, "in two steps", caught="exclusion/2"),
        mutant("ttas", 10, "dropped"),
    ]
    assert mutants.stale(expected, everything=True, by=by) == []
    caught = [*expected[1:], mutant("ttas", 4, "dropped", caught="exclusion/2")]
    assert mutants.stale(caught, everything=False, by=by) == [(by[0], "dropped is caught (ttas)")]
    assert mutants.stale(expected[:4], everything=False, by=by) == []
    stale = (by[2], "there is no such mutant: dropped")
    assert mutants.stale(expected[:4], everything=True, by=by) == [stale]


def test_parse_a_mutant() -> None:
    change = "failing acquire -> relaxed"
    line = f"mcs-spin        lockwright/lock/mcs.hpp:76 compare-and-swap {change}  survived\n"
    assert mutants.parse(line) == [
        mutants.Mutant("mcs-spin", "lockwright/lock/mcs.hpp", 76, "compare-and-swap", change, "")
    ]


def test_an_incomplete_run_is_recognised() -> None:
    line = "ttas  a.hpp:3 store dropped  exclusion/2: LIVELOCK\n"
    assert mutants.is_complete(line + "ttas            caught 1, survived 0\n")
    assert not mutants.is_complete(line)
    assert not mutants.is_complete(line + "model-check died: SIGSEGV\n")
    assert not mutants.is_complete("ttas            caught 0, survived 0\n")


def test_a_failure_is_reported_step_by_step() -> None:
    """Steps have thread, operation, object, order, values and line; the error follows."""
    _, text = run("broken", "--only", "test-then-set", "--trace")
    for thread in ("T0", "T1"):
        step = thread + r" +store byte_ relaxed: 0 -> 1 +broken\.hpp:\d+"
        assert re.search(step, text), text
    assert "two threads are inside at once" in text
    _, text = run("broken", "--only", "no-wake", "--trace")
    assert re.search(r"T\d +sleeps while word_ is 2 +broken\.hpp:\d+", text), text
    assert "no thread can proceed" in text


def script(name: str, *arguments: str | Path) -> str:
    """Return the output of `./dev model` or `./dev mutants` for one lock."""
    checker()
    result = captured(
        [sys.executable, locate.ROOT / "scripts" / f"{name}.py", *arguments], timeout=240
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_table_of_all_locks(tmp_path: Path) -> None:
    lock = LOCKS[0]
    for name in ("out.csv", "out.json"):
        text = script("model", "--locks", lock, "--budget", "0.1", "--output", tmp_path / name)
        rows = model.rows(text)
        assert {"exclusion", "trylock"} <= {row.scenario for row in rows}, text
        assert text.splitlines()[-1].endswith("; 0 failed"), text
    with (tmp_path / "out.csv").open() as file:
        assert [row["scenario"] for row in csv.DictReader(file)] == [row.scenario for row in rows]
    assert json.loads((tmp_path / "out.json").read_text())[0]["algorithm"] == lock


def test_the_counts_of_mutants(tmp_path: Path) -> None:
    lock = MUTATED[0]
    text = script("mutants", "--locks", lock, "--json", tmp_path / "out.json")
    name, caught, explained, survived = text.splitlines()[1].split()
    assert (name, survived) == (lock, "0"), text
    verdicts = [each["verdict"] for each in json.loads((tmp_path / "out.json").read_text())]
    assert [int(caught), int(explained)] == [verdicts.count("caught"), verdicts.count("explained")]
