"""The course and the conclusion of a joint search, on made-up runs whose truth is known."""

import itertools
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from lockwright.compare.plan import Plan, Slot
from lockwright.compare.verdict import Verdict
from lockwright.run.record import FAILED, FINISHED, Record
from lockwright.run.settings import Settings
from lockwright.tune import race
from lockwright.tune.joint import verdict
from lockwright.tune.joint.arm import Arm
from lockwright.tune.joint.choices import is_possible
from lockwright.tune.joint.search import (
    LOCKS,
    PAIRS,
    PROOF,
    SINGLES,
    Attempt,
    LockRace,
    Result,
    Search,
    Stage,
)
from lockwright.tune.outcome import outcome
from lockwright.tune.race import RaceRuns
from lockwright.tune.session import Session

VALUES = {
    "allocator": ("jemalloc", "mimalloc", "tcmalloc"),
    "pinning": ("compact:1",),
    "scheduler": ("batch",),
    "pages": ("huge",),
}
LOCK_RACE = LockRace("futex", "futex", ("pthread", "hmcs"))
Truth = Callable[[Arm], float]


def plan_of(stage: Stage, budget: float) -> Plan:
    return Plan(
        command=("x",),
        locks=tuple(arm.name for arm in stage.arms),
        threads=(0,),
        runs=100,
        warmup=1,
        metric=None,
        unit="s",
        lower_is_better=True,
        timeout=60,
        prepare=None,
        budget=budget,
        reference=stage.reference.name,
        kept=tuple(arm.name for arm in stage.kept),
    )


class Machine:
    """A machine whose runs and clock are made up. A truth of 0 seconds is a run that fails."""

    def __init__(self, stage: Stage, truth: Truth, draw: random.Random, noise: float) -> None:
        self.now = 0.0
        self._seconds = {arm.name: truth(arm) for arm in stage.arms}
        self._draw, self._noise = draw, noise

    def measure(self, slot: Slot, library: Path, limit: float) -> Record:
        seconds = self._seconds[slot.lock] * self._draw.lognormvariate(0, self._noise)
        self.now += seconds or 0.1
        how = FINISHED if seconds else FAILED
        value = seconds or None
        return Record(0, slot.round, slot.lock, how, value, seconds, 0, 0, 0, 0, 0.0, 0, "", "", {})


def attempt_of(truth: Truth, seed: int = 1, noise: float = 0.03, budget: float = 100.0) -> Attempt:
    """Return a function that carries out races by that truth: the seconds of a run of an arm."""
    draw = random.Random(seed)

    def attempt(stage: Stage) -> Result:
        plan = plan_of(stage, budget)
        machine = Machine(stage, truth, draw, noise)
        store = SimpleNamespace(records=lambda _: [], add=lambda *_: None)
        known = SimpleNamespace(path_of=Path)
        session = Session(SimpleNamespace(plan=plan), store, known, machine)  # type: ignore[arg-type]
        session.carry_out(budget, lambda: machine.now)
        runs = RaceRuns(plan, 0, session.records)
        table = outcome(plan, session.records, 0, session.endings.get(0, race.TIME_UP))
        return Result(stage, runs, table)

    return attempt


def searched(
    factors: Mapping[tuple[str, ...], float],
    locks: LockRace = LOCK_RACE,
    values: Mapping[str, tuple[str, ...]] = VALUES,
    **how: float,
) -> Search:
    """Return a search in which a run takes 1 s times the factor of each group of words that an
    arm has all of."""

    def truth(arm: Arm) -> float:
        words = set(arm.name.split("+"))
        seconds = 1.0
        for group, factor in factors.items():
            if words >= set(group):
                seconds *= factor
        return seconds

    search = Search(values, locks)
    search.carry_out(attempt_of(truth, **how))  # type: ignore[arg-type]
    return search


def conclusion(search: Search) -> Verdict:
    first = Stage(LOCKS, (Arm(),), Arm())
    return verdict.decide(plan_of(first, 100), search, Verdict("", "the lock's command"))


FUTEX: dict[tuple[str, ...], float] = {("futex",): 0.9}


def test_the_best_combination_is_found_and_proven() -> None:
    """The sentence has the ratio to the best lock alone and to the program as it is."""
    search = searched(FUTEX | {("jemalloc",): 0.7, ("mimalloc",): 0.8, ("batch",): 0.85})
    assert [each.stage.name for each in search.results] == [SINGLES, PAIRS, PROOF]
    chosen = verdict.recommended(search)
    assert chosen == Arm("futex", Settings(allocator="jemalloc", scheduler="batch"))
    found = conclusion(search)
    gain = re.match(
        r"futex\+jemalloc\+batch is shown to be better than the best lock alone \(futex\): (\S+)"
        r" times as fast as futex \(95 % CI 1\.",
        found.sentence,
    )
    assert gain is not None
    assert float(gain[1]) == pytest.approx(1 / (0.7 * 0.85), rel=0.06)
    assert "times as fast as pthread" in found.sentence
    assert found.command == ("lockwright run --lock futex --allocator jemalloc --sched batch -- x")


def test_settings_that_help_only_together_are_found() -> None:
    search = searched({("jemalloc", "huge"): 0.75})
    assert verdict.recommended(search) == Arm("futex", Settings("jemalloc", pages="huge")) or (
        verdict.recommended(search) == Arm("pthread", Settings("jemalloc", pages="huge"))
    )


def test_a_lock_that_gains_nothing_beside_a_setting_is_left_out() -> None:
    """With jemalloc, the lock is worth nothing, so the combination with fewest changes has none."""
    factors = {("futex",): 0.8, ("jemalloc",): 0.5, ("futex", "jemalloc"): 1.25}
    search = searched(factors)
    assert verdict.recommended(search) == Arm("pthread", Settings("jemalloc"))
    assert "it changes the least" in conclusion(search).sentence


def test_another_lock_may_be_best_with_a_setting() -> None:
    """hmcs alone is worse than futex, and better with jemalloc."""
    factors = FUTEX | {("jemalloc",): 0.8, ("hmcs", "jemalloc"): 0.7}
    locks = LockRace("futex", "futex", ("hmcs", "pthread"))
    search = searched(factors, locks)
    assert verdict.recommended(search) == Arm("hmcs", Settings("jemalloc"))
    proof = search.result(PROOF)
    assert proof is not None
    assert {Arm(), Arm("futex"), Arm("hmcs")} <= set(proof.stage.arms)


def test_of_tied_combinations_the_one_with_fewest_changes_is_recommended() -> None:
    search = searched(FUTEX | {("jemalloc",): 0.7, ("batch",): 0.995, ("huge",): 0.995})
    assert verdict.recommended(search) == Arm("futex", Settings("jemalloc"))


def test_there_is_none_with_its_bound() -> None:
    """Where nothing helps, the command is that of the best lock."""
    search = searched({("jemalloc",): 1.2, ("compact:1",): 1.5}, seed=4)
    assert verdict.recommended(search) is None
    found = conclusion(search)
    assert found.sentence.startswith(
        "No combination is shown to be better than the best lock alone (futex)."
    )
    assert found.command == "the lock's command"


def test_a_combination_is_rarely_shown_where_nothing_helps() -> None:
    """The proof has runs of its own, so that the luck of the earlier races does not count."""
    wrong = sum(
        verdict.recommended(searched({}, seed=seed, noise=0.1, budget=60)) is not None
        for seed in range(40)
    )
    assert wrong <= 4


def test_the_same_runs_take_the_same_course() -> None:
    """An interrupted search relies on that."""
    factors = FUTEX | {("jemalloc",): 0.9, ("batch",): 0.97}
    one, other = (searched(factors, seed=7) for _ in range(2))
    assert [each.stage for each in one.results] == [each.stage for each in other.results]


def test_a_setting_under_which_runs_fail_is_not_combined() -> None:
    def truth(arm: Arm) -> float:
        return 0.0 if arm.settings.allocator == "mimalloc" else 1.0

    search = Search(VALUES, LockRace())
    search.carry_out(attempt_of(truth))
    pairs = search.result(PAIRS)
    assert pairs is not None
    assert not any(arm.settings.allocator == "mimalloc" for arm in pairs.stage.arms)


def test_impossible_pairs_are_not_tried() -> None:
    """tcmalloc has no setting for huge pages."""
    assert not is_possible(Settings("tcmalloc", pages="huge"))
    search = searched({("tcmalloc",): 0.7, ("huge",): 0.8})
    names = {arm.name for each in search.results for arm in each.stage.arms}
    assert "futex+tcmalloc+batch" in names
    assert not any({"tcmalloc", "huge"} <= set(name.split("+")) for name in names)


def test_a_single_value_needs_no_pairs_but_a_proof() -> None:
    search = searched({("batch",): 0.8}, LockRace(), {"scheduler": ("batch",)})
    assert [each.stage.name for each in search.results] == [SINGLES, PROOF]
    assert verdict.recommended(search) == Arm("pthread", Settings(scheduler="batch"))


def test_the_worth_of_each_part_is_stated_alone_and_beside_the_lock() -> None:
    search = searched(FUTEX | {("jemalloc",): 0.7, ("batch",): 0.85})
    first = Stage(LOCKS, (Arm(), Arm("futex")), Arm())
    locks = attempt_of(lambda arm: 1.0 if arm == Arm() else 0.9)(first)
    rows = {row.part: row for row in verdict.worth(search, locks)}
    expected = {"futex": (1 / 0.9, None), "allocator jemalloc": (1 / 0.7, 1 / 0.7)}
    expected["scheduler batch"] = (1 / 0.85, 1 / 0.85)
    expected["all: futex+jemalloc+batch"] = (1 / (0.9 * 0.7 * 0.85), 1 / (0.7 * 0.85))
    for part, (alone, beside) in expected.items():
        row = rows[part]
        assert row.source == PROOF
        for ratio, true in ((row.alone, alone), (row.beside, beside)):
            assert (ratio is None) == (true is None), part
            if ratio is not None and true is not None:
                value, low, high = ratio
                assert value == pytest.approx(true, rel=0.06), part
                assert low is not None
                assert high is not None
                assert low < true < high, part


def test_names_and_facts_of_arms() -> None:
    """Both identify an arm."""
    words = itertools.product(("", "jemalloc"), ("", "compact:2"), ("", "batch"), ("", "huge"))
    arms = [Arm("hmcs", Settings(*each)) for each in words]
    assert len({arm.name for arm in arms}) == len(arms)
    for arm in arms:
        assert Arm.from_facts(arm.as_facts()) == arm
        assert arm.changes == 1 + len(arm.settings.values)
