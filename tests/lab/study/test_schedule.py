"""The order of a study's runs, and on which processors each is made."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from lockwright.experiment import LEFT_OUT, Outcome, Run
from lockwright.experiment.model import Slot
from lockwright.experiment.schedule import Schedule
from lockwright.machine import pinning
from lockwright.machine.pinning import Processor
from lockwright.run.record import FAILED, FINISHED, TIMEOUT
from lockwright_lab.study.campaign import local_machine
from lockwright_lab.study.campaign.experiment import (
    configuration_of,
    declare,
    difference,
    run_of,
    runs_for,
)
from lockwright_lab.study.campaign.plan import Configuration, Member, Plan
from lockwright_lab.study.program.entry import LOWER, OUTPUT, Metric, Program

PROGRAM = Program("a", ("a",), Metric("wall", "", OUTPUT, "s", LOWER))


def plan(runs: int = 2, most: int = 2, warmup: int = 0, seed: int = 1) -> Plan:
    return Plan(
        "p", ("x", "y", "z"), (Member(PROGRAM, 1.0),), (1, 2), (), ("none",),
        runs, warmup, most, 0.05, seed, "each",
    )  # fmt: skip


def schedule(plan: Plan, runs: Iterable[Run] = ()) -> Schedule:
    return Schedule(declare(plan), runs_for(plan, runs, "m"))


def run_record(slot: Slot, value: float = 1.0, outcome: str = FINISHED) -> Run:
    figures = {"value": value} if outcome == FINISHED else {}
    return run_of(slot, "m", "", Outcome(outcome, figures=figures))


def carry_out(line: Schedule, values: dict[str, Iterable[float]] | None = None) -> list[Slot]:
    sources = {lock: iter(each) for lock, each in (values or {}).items()}
    made = []
    while (slot := line.next()) is not None:
        made.append(slot)
        lock = slot.contender
        line.done(run_record(slot, next(sources[lock]) if lock in sources else 1.0))
    assert line.finished
    return made


def test_a_round_runs_every_configuration_once_in_an_order_of_its_own() -> None:
    """Which the seed decides."""
    made = carry_out(schedule(plan(runs=3, most=3, warmup=1)))
    assert [slot.round for slot in made] == [0] * 6 + [1] * 6 + [2] * 6 + [3] * 6
    rounds = [made[n : n + 6] for n in range(0, 24, 6)]
    for each in rounds:
        assert {configuration_of(declare(plan()), slot) for slot in each} == set(
            plan().configurations()
        )
    orders = {tuple(slot[:2] for slot in each) for each in rounds}
    assert len(orders) == 4
    assert carry_out(schedule(plan(runs=3, most=3, warmup=1))) == made
    assert carry_out(schedule(plan(runs=3, most=3, warmup=1, seed=2))) != made


@pytest.mark.parametrize("done", range(13))
def test_what_was_made_is_not_made_again(done: int) -> None:
    """Resumed after any run, the rest follows as if nothing had happened."""
    whole = carry_out(schedule(plan()))
    rest = carry_out(schedule(plan(), [run_record(slot) for slot in whole[:done]]))
    assert whole[:done] + rest == whole


def test_runs_that_lie_apart_are_made_again_until_they_do_not() -> None:
    """Up to the limit, and only those."""
    steady = [1.0] * 20
    values = {"x": [1.0, 2.0] * 10, "y": [1.0, 1.2, 1.1, 1.1, *steady], "z": steady}
    one = Plan(**{**vars(plan(runs=2, most=5)), "threads": (1,)})
    made = carry_out(schedule(one, []), values)  # type: ignore[arg-type]
    rounds = {lock: [s.round for s in made if s.contender == lock] for lock in "xyz"}
    assert rounds["x"] == [1, 2, 3, 4, 5]
    # 1, 1.2 and 1.1 lie 9 %, with one more 1.1 they lie 7 % apart.
    assert rounds["y"] == [1, 2, 3, 4, 5]
    assert rounds["z"] == [1, 2]


def test_a_configuration_is_given_up_that_hangs_or_cannot_run() -> None:
    """After two runs that do not end, or one word that it is left out; not after failures."""
    line = schedule(plan(runs=4, most=4))
    made: list[Slot] = []
    outcomes = {"x": TIMEOUT, "y": LEFT_OUT, "z": FAILED}
    while (slot := line.next()) is not None:
        made.append(slot)
        line.done(run_record(slot, outcome=outcomes[slot.contender]))
    counts = {lock: sum(slot.contender == lock for slot in made) for lock in outcomes}
    assert counts == {"x": 2 * 2, "y": 2 * 1, "z": 2 * 4}
    assert line.finished


def test_a_run_that_is_lost_is_given_to_another() -> None:
    """Once; what is under way is given to nobody else."""
    line = schedule(plan(runs=1, most=1))
    first = line.next()
    assert first is not None
    others = [line.next() for _ in range(5)]
    assert first not in others
    assert None not in others
    assert line.next() is None
    assert not line.finished
    line.lost(first)
    assert line.next() == first
    assert line.next() is None
    # What only somebody else can run stays for them.
    line.lost(first)
    assert line.next(lambda one: one != first) is None
    assert line.waiting() == [first]


def test_plans_differ_by_name() -> None:
    """The name is that of the key, or of the program."""
    stored = declare(plan()).plan()
    assert difference(declare(plan()).plan(), stored) == ""
    assert difference(declare(plan(runs=1)).plan(), stored) == "runs"
    other = Plan(**{**vars(plan()), "members": (Member(PROGRAM, 2.0),)})
    assert difference(declare(other).plan(), stored) == "the program a"


def test_runs_are_made_on_the_processors_that_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine has two nodes of two cores of two threads."""
    here = [Processor(n, n // 4, 2 * (n // 2), n % 2) for n in range(8)]
    monkeypatch.setattr(pinning, "usable_processors", lambda: here)

    def chosen(threads: int, nodes: int, placed: str) -> set[int] | None:
        return local_machine.processors_of(Configuration("a", "x", threads, nodes, placed))

    assert chosen(4, 0, "none") is None
    assert chosen(0, 1, "none") == {0, 1, 2, 3}
    assert chosen(3, 0, "compact") == {0, 1, 2}
    assert chosen(3, 0, "core") == {0, 2, 4}
    assert chosen(2, 0, "scatter") == {0, 4}
    assert chosen(2, 1, "core") == {0, 2}
    assert chosen(9, 0, "compact") == set(range(8))
    assert chosen(2, 0, "1,6-7") == {1, 6, 7}
    for nodes, placed in ((3, "none"), (0, "7-8")):
        with pytest.raises(local_machine.NotRunnable):
            chosen(2, nodes, placed)


def test_files_of_runs_that_were_killed_are_removed(tmp_path: Path) -> None:
    """Those of processes that live, and of other machines, are not."""
    from lockwright_lab.study.program import trial

    own = tmp_path / f"{trial.directory_prefix()}x"
    dead = tmp_path / (trial.directory_prefix().removesuffix(f"{os.getpid()}-") + "999999999-x")
    away = tmp_path / "run-another.machine-1-x"
    for each in (own, dead, away):
        (each / "below").mkdir(parents=True)
    trial.clear_abandoned(tmp_path)
    assert own.exists()
    assert away.exists()
    assert not dead.exists()
