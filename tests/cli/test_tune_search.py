"""The search of `lockwright tune` for the locks that are worth a proof, on made-up runs."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from lockwright.compare.experiment import declare
from lockwright.compare.plan import Plan
from lockwright.experiment import FAILED, FINISHED, Cell, Contender, Outcome, Runs, carry_out
from lockwright.tune import priors, race
from lockwright.tune.outcome import decide, gained, outcome
from lockwright.tune.preparation import Preparation
from lockwright.tune.priors import Values
from lockwright.tune.rule import Race
from lockwright.tune.search import CROWDED, SHARE, Search, expected_values
from support.made_runs import made_run

LOCKS = ("pthread", *(f"lock-{number}" for number in range(29)))
BUDGET = 100.0
FAMILIES = 5


def others() -> list[Values]:
    """Return the values of most of the locks in twenty programs, which are alike in a family."""
    draw = random.Random(1)

    def program(name: str) -> Values:
        levels = [abs(draw.gauss(0, 0.3)) for _ in range(FAMILIES)]
        values = {
            lock: -levels[index % FAMILIES] - abs(draw.gauss(0, 0.05))
            for index, lock in enumerate(LOCKS[:20])
        }
        return Values("m", name, 1, values)

    return [program(f"p{number}") for number in range(20)]


def search_of(advised: tuple[str, ...] = ()) -> Search:
    return Search.among(expected_values(others(), LOCKS, advised, ()), others())


def plan(budget: float = BUDGET) -> Plan:
    return Plan(
        command=("x",),
        locks=LOCKS,
        threads=(0,),
        runs=100,
        warmup=1,
        metric=None,
        unit="s",
        lower_is_better=True,
        timeout=60,
        prepare=None,
        budget=budget,
        reserves=LOCKS[1:],
    )


class Machine:
    """A machine whose runs and clock are made up. seconds: of a run, 1 unless given; deviation: of
    their logarithms; broken: a lock whose runs fail."""

    def __init__(
        self, seconds: Mapping[str, float], deviation: float = 0.03, broken: str = ""
    ) -> None:
        self.now = 0.0
        self._seconds, self._deviation, self._broken = seconds, deviation, broken

    def measure(self, _: Cell, contender: Contender, number: int) -> Outcome:
        lock = contender.name
        draw = random.Random(f"{lock} {number}")
        taken = self._seconds.get(lock, 1.0) * draw.lognormvariate(0, self._deviation)
        self.now += taken
        failed = lock == self._broken
        ended = FAILED if failed else FINISHED
        return made_run(lock, number, None if failed else taken, ended=ended, wall=taken, note="no")


def searched(machine: Machine, search: Search, of: Plan | None = None) -> tuple[Runs, Race]:
    of = of or plan()
    assert of.budget is not None
    rule = Race(of, of.budget, lambda: machine.now, search)
    return carry_out(declare(of, machine.measure, rule=rule)), rule


@pytest.mark.full("searches for the locks of a hundred programs")
def test_most_programs_of_another_machine_get_a_lock_near_the_best() -> None:
    """Of the published programs of one machine, with what is known of other programs on the other,
    most reach a lock within 5 % of the best of 28 with 20 runs, and its gain is then proven."""
    known = priors.read(priors.PUBLISHED)
    largest = {row.program: row for row in known if row.machine == "I-48"}
    programs = [row for row in largest.values() if len(row.values) > 24]
    near = proven = 0
    for row in programs:
        others = [each for each in known if each.machine == "A-64" and each.program != row.program]
        locks = ("pthread", *(lock for lock in row.values if lock != "pthread"))
        search = Search.among(expected_values(others, locks, (), ()), others)
        seconds = {lock: math.exp(-value) for lock, value in row.values.items()}
        race_plan = replace(plan(200), locks=locks, reserves=locks[1:])
        runs, rule = searched(Machine(seconds), search, race_plan)
        ran = {run.contender for run in runs if run.round <= 10}
        best = min(seconds.values())
        near += min(seconds[lock] for lock in ran) < 1.05 * best
        result = outcome(race_plan, runs, 0, rule.endings[0], search)
        proven += gained(result) and seconds[result.standing.best or ""] < 1.05 * best
    assert len(programs) >= 8
    assert near >= 0.8 * len(programs)
    assert proven >= 0.7 * len(programs)


def test_a_program_without_a_gain_is_told() -> None:
    """The finalists are shown to gain nothing; the sentence says what the others rest on."""
    runs, rule = searched(Machine({}, 0.01), search_of())
    assert rule.endings[0] == race.ALL_NEAR
    result = outcome(plan(), runs, 0, rule.endings[0], search_of())
    text = decide(plan(), [result], Preparation(())).sentence
    assert text.startswith("No gain: ")
    assert "; the search set the other " in text
    aside = [row for row in result.rows if row.fate.startswith("set aside by the search after ")]
    assert aside


def test_a_resumed_search_goes_on_as_it_would_have() -> None:
    """A new search with the runs of the first rounds chooses the locks of the next one."""
    runs, _ = searched(Machine({"lock-5": 0.8}), search_of())
    for number in (1, 2, 5, 9):
        first = Runs([run for run in runs if run.round < number])
        rule = Race(plan(), BUDGET, lambda: 0.0, search_of())
        chosen = rule.entrants("", number, LOCKS, first)
        assert list(chosen) == [run.contender for run in runs if run.round == number]


def test_a_lock_that_fails_is_out() -> None:
    """It runs once, though it was expected to be best."""
    runs, _ = searched(Machine({}, broken="lock-4"), search_of(("lock-4",)))
    assert [run.round for run in runs if run.contender == "lock-4"] == [1]


def test_the_search_leaves_a_third_of_the_budget_to_the_proof() -> None:
    """Also where runs vary so much that a search could use all of it."""
    runs, _ = searched(Machine({}, 0.5), search_of())
    spent = {n: sum(r.wall for r in runs if r.round < n) for n in {run.round for run in runs}}
    late = {run.contender for run in runs if spent[run.round] >= SHARE * BUDGET}
    view = search_of().view(plan(), 0, runs)
    assert not view.picks
    assert late <= {"pthread", *view.finalists}


def test_the_expected_values() -> None:
    """Those of the published programs; the advice raises them, a lack of processors lowers them."""
    known = priors.read(priors.PUBLISHED)
    locks = ("pthread", "mcs-spin", "mcs-stp", "new")
    usual = expected_values(known, locks, (), ())
    assert all(-0.7 <= value < 0 for value in usual.values())
    changed = expected_values(known, locks, ("mcs-stp",), ("mcs-spin",))
    assert changed["mcs-stp"] == 0
    assert changed["mcs-spin"] == pytest.approx(usual["mcs-spin"] + CROWDED)
    assert changed["new"] == usual["new"]
