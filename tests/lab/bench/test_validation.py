"""The metric by which simulated and predicted locks are compared with measured ones."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FINISHED, TIMEOUT, Run, Runs
from lockwright.experiment.model import Slot
from lockwright.simulate import machine
from lockwright_lab.bench.parts import Parts
from lockwright_lab.bench.validation import agreement, predictions, simulator, subjects
from lockwright_lab.bench.validation.agreement import Cell, Measured
from lockwright_lab.bench.validation.first import Folder
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import OUTPUT, Metric, Program

PROGRAM = Program("made", ("made", "{threads}"), Metric("wall", "", OUTPUT, "s", "lower"))
SUBJECT = subjects.Subject("made", PROGRAM, 2)
(CELL,) = simulator.cells(["single-lock"], [2])


def runs(cell: str = CELL.name, **rates: tuple[float, ...]) -> Runs:
    """Return runs that took a second at a rate of 1; 0 for one that was ended after two. `_sim` at
    the end of a name stands for a simulation."""
    found = Runs()
    for name, values in rates.items():
        for number, rate in enumerate(values, 1):
            slot = Slot(cell, name.replace("_sim", " simulated"), number)
            if rate:
                found.add(Run(FINISHED, 1 / rate, {"rate": rate}, slot=slot))
            else:
                found.add(Run(TIMEOUT, 2.0, slot=slot))
    return found


def compared(
    real: dict[str, list[float]], expected: dict[str, float], metric: agreement.Metric
) -> Cell:
    measured = {lock: Measured(rates) for lock, rates in real.items()}
    found = agreement.cell("single-lock", 2, measured, expected, metric)
    assert found is not None
    return found


def test_tau_is_over_pairs_that_the_runs_show_to_differ() -> None:
    real = {"a": [100.0, 102.0], "b": [50.0, 52.0], "c": [49.0, 55.0], "d": [10.0, 11.0]}
    # b and c overlap. Of the other five pairs, b and d are in the wrong order.
    found = compared(real, {"a": 9, "b": 2, "c": 4, "d": 3}, simulator.METRIC)
    assert found.tau == pytest.approx(3 / 5)
    assert (found.pairs, found.shown, found.right) == (6, 5, 4)
    assert compared({"a": [1], "b": [2]}, {"a": 1, "b": 2}, simulator.METRIC).tau is None
    assert compared({"a": [1, 1], "b": [9, 9]}, {"a": 2, "b": 2}, simulator.METRIC).tau == 0


def test_pairs_of_predictions_differ_by_more_than_five_per_cent() -> None:
    close = {"pthread": [1.0, 1.0], "b": [0.9, 1.2], "c": [1.04, 1.04]}
    found = compared(close, {"pthread": 1, "b": 9, "c": 0.5}, predictions.METRIC)
    assert (found.pairs, found.shown) == (3, 0)
    clear = {"pthread": [1.0, 1.1], "b": [1.3, 1.4]}
    for rate, right in ((2, 1), (1, 0)):
        found = compared(clear, {"pthread": 1, "b": rate}, predictions.METRIC)
        assert (found.shown, found.right) == (1, right)


@pytest.mark.parametrize(
    ("metric", "expected", "agrees"),
    [
        (simulator.METRIC, 2.9, True),
        (simulator.METRIC, 3.1, False),
        (simulator.METRIC, 1.3, False),
        (predictions.METRIC, 2.3, True),
        (predictions.METRIC, 2.5, False),
        (predictions.METRIC, 1.5, False),
    ],
)
def test_ratios_to_pthread_agree(metric: agreement.Metric, expected: float, agrees: bool) -> None:
    """Within a factor of 1.5, or a fifth of the measured one, which is 2."""
    found = compared({"pthread": [1, 1], "b": [2, 2]}, {"pthread": 1, "b": expected}, metric)
    assert [ratio.is_near for ratio in found.ratios] == [agrees]


def plan(*locks: str) -> predictions.Plan:
    return predictions.Plan([SUBJECT], [list(locks)], [], {})


def predicted(rates: dict[str, float], **measured: tuple[float, ...]) -> list[Cell]:
    """Return the cells of the predictions, and of the halves."""
    by_key = {("made", 2, lock): rate for lock, rate in rates.items()}
    made = runs(SUBJECT.cell, **measured)
    return [each.cells[0] for each in predictions.agreed(plan(*measured), made, by_key)]


@pytest.mark.parametrize(("rate", "agrees"), [(0.1, True), (0.59, True), (0.61, False)])
def test_a_run_that_was_ended_is_a_bound(rate: float, agrees: bool) -> None:
    """It took more than two seconds, pthread one."""
    found, halves = predicted({"pthread": 1, "b": rate}, pthread=(1.0, 1.0), b=(0.0,))
    assert found.ratios[0].measured == pytest.approx(0.5)
    assert found.ratios[0].is_near is agrees
    assert (found.shown, found.right) == (1, 1)
    assert not halves.ratios


def test_the_halves_of_the_rounds_are_compared() -> None:
    """The ratio was 1.5 in the first and third round, and 2 in the second."""
    rates = {"pthread": (1.0, 1.0, 1.0), "b": (1.4, 2.0, 1.6)}
    found, halves = predicted({"pthread": 1, "b": 1.6}, **rates)
    (ratio,) = halves.ratios
    assert [ratio.measured, ratio.expected] == pytest.approx([2.0, 1.5])
    assert not ratio.is_near
    lines = predictions.sentences(agreement.Agreement((found,)), agreement.Agreement((halves,)), [])
    assert "Of 1 ratios to pthread, within 20 %: 100 %; the goal is 80 % (met)." in lines
    assert "  for comparison, one half of the rounds against the other: 0 % of 1" in lines


def test_changes_agree_within_a_tenth() -> None:
    after = subjects.Subject("made 8", PROGRAM, 2)
    case = subjects.Case(SUBJECT, after, subjects.SHARDS, 8)
    made = runs(SUBJECT.cell, pthread=(1.0, 1.1))
    for run in runs(after.cell, pthread=(2.0, 2.2)):
        made.add(run)
    for value, agrees in ((2.15, True), (2.25, False), (1.75, False)):
        found = predictions.changed(case, made, {case.name: value})
        assert found is not None
        assert found.agrees is agrees
        assert found.again == pytest.approx(1)
    assert predictions.changed(case, made, {}) is None


def test_simulations_count_by_their_median_up_to_the_last_seed() -> None:
    made = runs(pthread=(10, 10), x=(20, 20), pthread_sim=(1,), x_sim=(9, 2.1, 1.9))
    ratios = [
        simulator.agreed(made, [CELL], ["pthread", "x", "dead"], seeds).cells[0].ratios[0].expected
        for seeds in (1, 2, 3)
    ]
    assert ratios == pytest.approx([9, 5.55, 2.1])


def test_each_round_is_compared_with_the_others() -> None:
    """Without simulations: a round that swaps two locks disagrees with the other two."""
    made = runs(pthread=(10, 10, 10), x=(20, 20, 40), y=(5, 5, 1))
    found = simulator.ceiling(made, [CELL], ["pthread", "x", "y"])
    assert [each.tau for each in found.cells] == [1, 1, 1]
    # Against the medians 30 and 3 of the others, 20 is as far off as 5; 40 and 1 are, too.
    assert [sum(ratio.is_near for ratio in each.ratios) for each in found.cells] == [1, 1, 0]
    swapped = runs(x=(20, 20, 5), y=(5, 5, 20))
    taus = [each.tau for each in simulator.ceiling(swapped, [CELL], ["x", "y"]).cells]
    assert taus == [None, None, -1]


def test_a_lock_that_was_ended_runs_once_and_none_runs_late() -> None:
    rule = Parts("rate", 3, rounds={CELL.name: {"pthread": 3, "b": 3}}, repeats_failed=False)
    made = runs(pthread=(1.0,), b=(0.0,))
    slots = [Slot(CELL.name, lock, 2) for lock in ("pthread", "b")]
    assert [rule.wanted(slot, made) for slot in slots] == [True, False]
    assert not rule.entrants("another/2", 1, ["pthread"], made)
    rule.end_after(-1)
    assert not rule.wanted(slots[0], made)


def test_a_damaged_prediction_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path, Folders(tmp_path, tmp_path))
    for kind in ("profile", "predicted"):
        (tmp_path / f"made.{kind}.json").write_text('{"rates": [["ma')
    with pytest.raises(LockwrightError, match=r"made\.predicted\.json"):
        folder.predicted(SUBJECT, machine.load("a-64"), [], [])


def test_there_are_sixty_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of programs of this project's own and of real ones; each has a name of its own."""
    monkeypatch.setattr(subjects, "bench_program", lambda: "lockwright-bench")
    cases = subjects.cases(subjects.PROGRAMS, 0.1)
    assert len({case.name for case in cases}) == len(cases) >= 60
    for case in cases:
        commands = [form.program.command for form in (case.before, case.after)]
        assert commands[0] != commands[1] or case.kind == subjects.COUNT
