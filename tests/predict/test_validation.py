"""The metric of the validation of predictions."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FINISHED, TIMEOUT, Run, Runs
from lockwright.experiment.model import Slot
from lockwright.simulate import machine
from lockwright_lab.bench.predictions import agreement, subjects, tables
from lockwright_lab.bench.predictions.experiment import Parts
from lockwright_lab.bench.predictions.first import Folder
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import OUTPUT, Metric, Program

PROGRAM = Program("made", ("made", "{threads}"), Metric("wall", "", OUTPUT, "s", "lower"))
SUBJECT = subjects.Subject("made", PROGRAM, 2)


def runs(**rates: tuple[float, ...]) -> Runs:
    """Return runs that took a second at a rate of 1; 0 for one that was ended after two."""
    found = Runs()
    for lock, values in rates.items():
        for number, rate in enumerate(values):
            slot = Slot(SUBJECT.cell, lock, number + 1)
            if rate:
                found.add(Run(FINISHED, 1 / rate, {"rate": rate}, slot=slot))
            else:
                found.add(Run(TIMEOUT, 2.0, slot=slot))
    return found


def cell(predicted: dict[str, float], **rates: tuple[float, ...]) -> agreement.Cell:
    found = agreement.cell(
        SUBJECT, list(rates), runs(**rates), {("made", 2, k): v for k, v in predicted.items()}
    )
    assert found is not None
    return found


def test_only_pairs_beyond_the_noise_count() -> None:
    """Of b and pthread the ranges overlap; c is 4 % ahead."""
    found = cell(
        {"pthread": 1, "b": 9, "c": 0.5},
        pthread=(1.0, 1.0),
        b=(0.9, 1.2),
        c=(1.04, 1.04),
    )
    assert (found.pairs, found.shown) == (3, 0)
    found = cell({"pthread": 1, "b": 2}, pthread=(1.0, 1.1), b=(1.3, 1.4))
    assert (found.shown, found.right) == (1, 1)
    assert cell({"pthread": 1, "b": 1}, pthread=(1.0, 1.1), b=(1.3, 1.4)).right == 0


@pytest.mark.parametrize(("predicted", "agrees"), [(1.7, True), (1.15, False), (1.85, False)])
def test_ratios_agree_within_a_fifth(predicted: float, agrees: bool) -> None:
    (ratio,) = cell({"pthread": 2, "b": 2 * predicted}, pthread=(1.0, 1.0), b=(1.5, 1.5)).ratios
    assert ratio.measured == pytest.approx(1.5)
    assert ratio.agrees is agrees


@pytest.mark.parametrize(("predicted", "agrees"), [(0.1, True), (0.59, True), (0.61, False)])
def test_a_run_that_was_ended_is_a_bound(predicted: float, agrees: bool) -> None:
    """It took more than two seconds, pthread one."""
    found = cell({"pthread": 1, "b": predicted}, pthread=(1.0, 1.0), b=(0.0,))
    assert found.ratios[0].measured == pytest.approx(0.5)
    assert found.ratios[0].agrees is agrees
    assert (found.shown, found.right) == (1, 1)


def test_the_halves_of_the_rounds_are_compared() -> None:
    """The ratio was 1.5 in the first and third round, and 2 in the second."""
    rates = {"pthread": (1.0, 1.0, 1.0), "b": (1.4, 2.0, 1.6)}
    (ratio,) = cell({"pthread": 1, "b": 1}, **rates).ratios
    assert ratio.again == pytest.approx(0.75)
    assert agreement.repeats([ratio.again, None, 1.1], 0.2) == [False, True]


def test_changes_agree_within_a_tenth() -> None:
    after = subjects.Subject("made 8", PROGRAM, 2)
    case = subjects.Case(SUBJECT, after, subjects.SHARDS, 8)
    made = runs(pthread=(1.0, 1.1))
    for number, rate in enumerate((2.0, 2.2)):
        slot = Slot(after.cell, "pthread", number + 1)
        made.add(Run(FINISHED, 1.0, {"rate": rate}, slot=slot))
    for value, agrees in ((2.15, True), (2.25, False), (1.75, False)):
        found = agreement.changed(case, made, {case.name: value})
        assert found is not None
        assert found.agrees is agrees
    assert agreement.changed(case, made, {}) is None


def test_the_figures_have_their_goals() -> None:
    found = cell({"pthread": 1, "b": 2}, pthread=(1.0, 1.0), b=(2.0, 2.0))
    lines = tables.sentences([found], [])
    assert lines == [
        "Of 1 pairs shown to differ, in order: 100 %; the goal is 85 % (met).",
        "Of 1 ratios to pthread, within 20 %: 100 %; the goal is 80 % (met).",
        "  for comparison, one half of the rounds against the other: 100 % of 1",
    ]


def test_a_lock_that_was_ended_runs_once() -> None:
    rule = Parts("rate", 3, of_cell={SUBJECT.cell: (("pthread", "b"), 3)})
    made = runs(pthread=(1.0,), b=(0.0,))
    wanted = [rule.wanted(Slot(SUBJECT.cell, lock, 2), made) for lock in ("pthread", "b")]
    assert wanted == [True, False]
    assert not rule.entrants("another/2", 1, ["pthread"], made)


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
    assert {case.kind for case in cases} == {subjects.SECTION, subjects.SHARDS, subjects.COUNT}
    assert all(
        case.before.program.command != case.after.program.command
        for case in cases
        if case.kind != subjects.COUNT
    )
