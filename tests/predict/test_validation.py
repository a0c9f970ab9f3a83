"""The metric of the validation of predictions."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright_lab.bench.predictions import agreement, subjects, tables
from lockwright_lab.bench.predictions.store import Run, Runs, Settings, Store
from lockwright_lab.study.program.entry import OUTPUT, Metric, Program

PROGRAM = Program("made", ("made", "{threads}"), Metric("wall", "", OUTPUT, "s", "lower"))
SUBJECT = subjects.Subject("made", PROGRAM, 2)


def runs(**rates: tuple[float, ...]) -> Runs:
    """Return runs that took a second at a rate of 1; 0 for one that was ended after two."""
    found = Runs()
    for lock, values in rates.items():
        for number, rate in enumerate(values):
            wall = 1 / rate if rate else 2.0
            found.add(Run("made", 2, lock, number, rate, wall, is_ended=not rate))
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
    """The ratio was 1.5 in the even rounds, and 2 in the odd one."""
    rates = {"pthread": (1.0, 1.0, 1.0), "b": (1.4, 2.0, 1.6)}
    (ratio,) = cell({"pthread": 1, "b": 1}, **rates).ratios
    assert ratio.again == pytest.approx(0.75)
    assert agreement.repeats([ratio.again, None, 1.1], 0.2) == [False, True]


def test_changes_agree_within_a_tenth() -> None:
    after = subjects.Subject("made 8", PROGRAM, 2)
    case = subjects.Case(SUBJECT, after, subjects.SHARDS, 8)
    made = runs(pthread=(1.0, 1.1))
    for number, rate in enumerate((2.0, 2.2)):
        made.add(Run("made 8", 2, "pthread", number, rate, 1.0))
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


def test_a_validation_is_resumed_with_the_same_settings(tmp_path: Path) -> None:
    store = Store(tmp_path / "made")
    store.begin(Settings(1.0, 1.0))
    store.add(Run("made", 2, "pthread", 0, 1.0, 1.0))
    again = store.begin(Settings(1.0, 1.0))
    assert not again.is_missing("made", 2, "pthread", 0)
    assert again.is_missing("made", 2, "pthread", 1)
    with pytest.raises(LockwrightError, match=r"seconds 1\.0, not 2"):
        store.begin(Settings(2.0, 1.0))


def test_a_run_that_was_cut_is_made_again(tmp_path: Path) -> None:
    """As after a kill in the middle of a line; the next line is not added to its rest."""
    settings = Settings(1.0, 1.0)
    store = Store(tmp_path / "made")
    store.begin(settings)
    for number in (0, 1):
        store.add(Run("made", 2, "pthread", number, 1.0, 1.0))
    path = tmp_path / "made/runs.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    again = store.begin(settings)
    assert [again.is_missing("made", 2, "pthread", number) for number in (0, 1)] == [False, True]
    store.add(Run("made", 2, "pthread", 1, 2.0, 1.0))
    store.add(Run("made", 2, "pthread", 2, 2.0, 1.0))
    assert [run.rate for run in store.begin(settings).of("made", 2, "pthread")] == [1.0, 2.0, 2.0]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.begin(Settings(1.0, 1.0))
    store.add_predictions("made", {("made", 2, "pthread"): 1.0}, {}, is_blind=True)
    predicted = tmp_path / "made.predicted.json"
    predicted.write_text(predicted.read_text()[:-10])
    with pytest.raises(LockwrightError, match=r"made\.predicted\.json is damaged"):
        store.predictions()
    store.add(Run("made", 2, "pthread", 0, -1.0, 1.0))
    with pytest.raises(LockwrightError, match=r"runs\.jsonl is damaged \(rate is -1"):
        store.begin(Settings(1.0, 1.0))


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
