"""`lockwright bench what-if`: gains by experiments against those of changed programs."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FINISHED, Run, Runs
from lockwright.experiment.model import Slot
from lockwright.stats.inference import Ratio
from lockwright_lab.bench.speedup import real_experiment, real_programs
from lockwright_lab.bench.speedup.experiment import (
    Compared,
    UntilNarrow,
    change_name,
    compared,
    sentences,
)
from lockwright_lab.bench.speedup.subjects import Found, subjects

CELL = "saturated, 2 threads, length 1"


def runs(**rates: tuple[float, ...]) -> Runs:
    """Return runs of the forms by `of_` and the per cent by which their sections are shorter."""
    found = Runs()
    for name, values in rates.items():
        form = change_name(int(name.removeprefix("of_")))
        for number, rate in enumerate(values, 1):
            found.add(Run(FINISHED, 1.0, {"rate": rate}, slot=Slot(CELL, form, number)))
    return found


def test_the_shares_that_agree() -> None:
    made = runs(
        of_0=(100, 100.1),
        of_25=(120, 120.1),
        of_50=(150, 150.1),
        of_75=(300, 300.1),
        of_101=(200, 201),
        of_102=(160, 160.1),
    )
    rows = [
        Found("sections 25 % shorter", 25, 1.15, 1.1, 1.19, 1.0, 0.04),
        Found("sections 50 % shorter", 50, 1.3, 1.2, 1.6, 1.51, 0.04),
        Found("sections 75 % shorter", 75, None, None, None, None, 0.04),
        Found("no waits for it", None, 1.9, 1.6, 2.1, None, 0.04),
        Found("readers together", None, 1.3, 1.2, 1.4, None, 0.04),
    ]
    changes = compared(made, {CELL: rows})
    assert [each.is_near for each in changes] == [True, False, False, True, False]
    assert [each.is_covered for each in changes] == [False, True, False, True, False]
    near, waits, readers, covered, others, cost = sentences(changes)
    assert near == "Of 5 changes, experiments within 10 %: 40 %; the goal is 80 % (not met)."
    assert waits == "  of those of no waits: 100 % of 1"
    assert readers == "  of those of readers together: 0 % of 1"
    assert "measured gain: 40 %; the goal is 90 %" in covered
    assert "simulated within 10 %: 50 % of 2; 'nothing changes': 0 % of 5" in others
    assert "4 % in the median, 4 % at most" in cost


def test_forms_run_until_their_gains_are_narrow() -> None:
    rule = UntilNarrow("rate", 2, 9)
    forms = ["as it is", "25 % shorter", "50 % shorter", "75 % shorter"]
    waits = (200, 200.1)
    wide = runs(
        of_0=(100, 100.1), of_25=(120, 120.1), of_50=(150, 190), of_75=(300, 300.1), of_101=waits
    )
    assert sorted(rule.entrants(CELL, 3, forms, wide)) == ["50 % shorter", "as it is"]
    narrow = runs(
        of_0=(100, 100.1), of_25=(120, 120.1), of_50=(150, 150.1), of_75=(300, 300.1), of_101=waits
    )
    assert not rule.entrants(CELL, 3, forms, narrow)
    assert sorted(rule.entrants(CELL, 2, forms, narrow)) == sorted(forms)


def test_the_programs_have_to_be_built(tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match=r"no program .*sections"):
        subjects(["pipeline"], [1], tmp_path)


def test_real_programs_have_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_programs, "missing", lambda _: [])
    changes = real_programs.changes([])
    assert len({each.program for each in changes}) >= 5
    assert len({each.key for each in changes}) == len(changes) >= 10
    for each in changes:
        before, after = (program.words for program in each.programs)
        assert before.keys() == after.keys()
        assert before != after
        assert each.programs[0].check.matches or each.programs[0].metric.reader == "wall"
    with pytest.raises(LockwrightError, match="no real program is named 'zstd-lon'"):
        real_programs.changes(["zstd-lon"])
    monkeypatch.setattr(real_programs, "missing", lambda _: ["zstd"])
    with pytest.raises(LockwrightError, match="zstd-long needs zstd"):
        real_programs.changes(["zstd-long"])


def test_the_share_of_real_changes_within_a_factor() -> None:
    def change(subject: str, gain: float | None, measured: float) -> Compared:
        found = Found("", 50, gain, gain, gain and 1.1 * gain, None, 0.05)
        return Compared(subject, found, Ratio(measured, None, None, None, 5))

    changes = [
        change("cache, few to many", 1.6, 2.0),
        change("cache, few to more", 1.2, 1.25),
        change("store, slow to fast", 1.5, 1.19),
        change("queue, long to short", None, 1.1),
    ]
    near, others = real_experiment.sentences(changes)
    assert near.startswith("Of 4 changes of 3 programs, experiments within 1.25 times: 50 %")
    assert "the measured gain: 25 % of 4; 'nothing changes' within 1.25 times: 75 % of 4" in others
    assert real_experiment.sentences([]) == []
