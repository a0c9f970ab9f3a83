"""`lockwright bench what-if`: gains by experiments against those of changed programs."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FINISHED, Run, Runs
from lockwright.experiment.model import Slot
from lockwright_lab.bench.speedup.experiment import UntilNarrow, compared, sentences
from lockwright_lab.bench.speedup.subjects import Found, subjects

CELL = "saturated, 2 threads, length 1"


def runs(**rates: tuple[float, ...]) -> Runs:
    """Return runs of the forms by `of_` and the per cent by which their sections are shorter."""
    found = Runs()
    for name, values in rates.items():
        share = name.removeprefix("of_")
        form = "as it is" if share == "0" else f"{share} % shorter"
        for number, rate in enumerate(values, 1):
            found.add(Run(FINISHED, 1.0, {"rate": rate}, slot=Slot(CELL, form, number)))
    return found


def test_the_shares_that_agree() -> None:
    made = runs(of_0=(100, 100.1), of_25=(120, 120.1), of_50=(150, 150.1), of_75=(300, 300.1))
    rows = [
        Found(25, 1.15, 1.1, 1.19, 1.0, 0.04),
        Found(50, 1.3, 1.2, 1.6, 1.51, 0.04),
        Found(75, None, None, None, None, 0.04),
    ]
    changes = compared(made, {CELL: rows})
    assert [each.is_near for each in changes] == [True, False, False]
    assert [each.is_covered for each in changes] == [False, True, False]
    near, covered, others, cost = sentences(changes)
    assert near == "Of 3 changes, experiments within 10 %: 33 %; the goal is 80 % (not met)."
    assert "measured gain: 33 %; the goal is 90 %" in covered
    assert "simulated within 10 %: 50 % of 2; 'nothing changes': 0 % of 3" in others
    assert "4 % in the median, 4 % at most" in cost


def test_forms_run_until_their_gains_are_narrow() -> None:
    rule = UntilNarrow("rate", 2, 9)
    forms = ["as it is", "25 % shorter", "50 % shorter", "75 % shorter"]
    wide = runs(of_0=(100, 100.1), of_25=(120, 120.1), of_50=(150, 190), of_75=(300, 300.1))
    assert sorted(rule.entrants(CELL, 3, forms, wide)) == ["50 % shorter", "as it is"]
    narrow = runs(of_0=(100, 100.1), of_25=(120, 120.1), of_50=(150, 150.1), of_75=(300, 300.1))
    assert not rule.entrants(CELL, 3, forms, narrow)
    assert sorted(rule.entrants(CELL, 2, forms, narrow)) == sorted(forms)


def test_the_programs_have_to_be_built(tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match=r"no program .*sections"):
        subjects(["pipeline"], [1], tmp_path)
