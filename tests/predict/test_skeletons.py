"""Skeletons: their files, the fit to made-up data with a known answer, and their studies."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lockwright.base.errors import LockwrightError
from lockwright.predict.skeletons import correction, files, fitting, generic, study
from lockwright.predict.skeletons.files import SHIPPED, file_name
from lockwright.simulate import machine
from lockwright.simulate.model import Estimate, Operation, as_toml, load
from msgspec.structs import replace

LOCKS = list(fitting.LOCKS)
NODES = (1, 4, 8)

RATES = {
    "one-lock-a": [[9e6, 9e6, 9e6, 9e6], [4e6, 2e6, 8e6, 8e6], [1e6, 5e5, 4e6, 6e6]],
    "one-lock-b": [[9e6, 8e6, 9e6, 7e6], [7e6, 6e6, 5e6, 4e6], [8e6, 6e6, 2e6, 1e6]],
    "barrier-c": [[5e6, 5e6, 5e6, 5e6], [1e6, 3e6, 1e6, 2e6], [1e5, 2e6, 3e5, 8e5]],
}
"""Sections per second of made-up programs: a row for each number of nodes."""


def library(rates: dict[str, list[list[float]]] = RATES) -> fitting.Library:
    rows = [
        (name, nodes, 8 * nodes, lock, rate)
        for name, table in rates.items()
        for nodes, line in zip(NODES, table, strict=True)
        for lock, rate in zip(LOCKS, line, strict=True)
    ]
    columns = ["application", "nodes", "threads", "lock", "sections_per_second"]
    return fitting.Library(pd.DataFrame(rows, columns=columns))


def published(name: str, sections: float, parallel: float) -> pd.DataFrame:
    """The throughput of an application: a made-up program, and work beside it in seconds."""
    processors = np.array([[8.0 * nodes] for nodes in NODES])
    rates = 1 / (sections / np.array(RATES[name]) + parallel / processors)
    return pd.DataFrame(rates, index=list(NODES), columns=LOCKS)


@pytest.mark.parametrize("name", list(RATES))
def test_an_application_gets_the_program_it_was_made_from(name: str) -> None:
    fitted = fitting.fit("made", published(name, 1000, 0), library(), LOCKS)
    best = fitted.choice
    assert (best.name, fitted.nodes) == (name, (8, 1))
    assert best.distance == pytest.approx(0, abs=1e-9)
    assert best.operation.sections == pytest.approx(1000)
    assert best.operation.parallel_ns == 0


def test_work_beside_the_program_is_found() -> None:
    """Half of the time of an operation under the mean lock."""
    times = 1000 / np.array(RATES["one-lock-a"][2])
    parallel = 64 * float(np.exp(np.log(times).mean()))
    fitted = fitting.fit("made", published("one-lock-a", 1000, parallel), library(), LOCKS)
    best = fitted.choice
    assert best.name == "one-lock-a"
    assert best.operation.sections == pytest.approx(1000)
    assert best.operation.parallel_ns == pytest.approx(1e9 * parallel)


def test_a_fit_ignores_other_locks() -> None:
    data = published("one-lock-b", 10, 0)
    more = data.assign(clh=[1.0, 1e9, 5.0])
    assert fitting.fit("made", data, library(), LOCKS) == fitting.fit(
        "made", more, library(), LOCKS
    )


def test_a_lock_without_a_section_is_slower_than_all_others() -> None:
    stuck = {**RATES, "one-lock-b": [*RATES["one-lock-b"][:2], [8e6, 6e6, 2e6, 0.0]]}
    times = library(stuck).times("one-lock-b", [8], LOCKS)
    assert times is not None
    assert times[0, 3] == pytest.approx(10 * times[0, :3].max())


def test_locks_that_park_replace_those_that_poll() -> None:
    data = pd.DataFrame({"pthread": [1.0, 2.0], "mcs-stp": [1.0, 2.0], "ttas": [np.nan, np.nan]})
    assert fitting.locks_of_fit("made", data) == fitting.LOCKS_THAT_PARK
    assert fitting.locks_of_fit("made", published("barrier-c", 1, 0)) == fitting.LOCKS
    with pytest.raises(LockwrightError, match="made has runs neither under"):
        fitting.locks_of_fit("made", data.drop(columns="mcs-stp"))


def test_a_fitted_skeleton_states_its_source(tmp_path: Path) -> None:
    programs = generic.library()
    name = next(iter(programs))
    choice = fitting.Choice(name, 0.5, Operation(1000.0, 2e6))
    fitted = fitting.Fit("made", fitting.LOCKS, (8, 1), choice)
    model = fitting.skeleton(fitted, programs[name][0], "a made-up study")
    path = tmp_path / file_name("made", 1)
    path.write_text(as_toml(model))
    again = files.load(tmp_path)["made"][0]
    assert "fitted to a made-up study: pthread, ttas, mcs-stp, hmcs on 1, 8 nodes" in again.source
    assert (again.operation, again.fitted_locks) == (choice.operation, fitting.LOCKS)
    assert fitting.generic_name(again) == name
    assert again.simulator_input() == model.simulator_input()


def test_a_skeleton_from_a_profile_states_its_source(tmp_path: Path) -> None:
    ((model,),) = [
        models for name, models in generic.library().items() if name == "one-lock-50-7-1"
    ]
    profiled = replace(model, source="profile of today")
    made = fitting.profiled_skeleton("made", profiled, fitting.LOCKS, "a made-up study")
    published = {"pthread": 10.0, "ttas": 20.0, "mcs-stp": 10.0, "hmcs": 20.0, "ticket": 1.0}
    rates = {lock: 1000 * rate for lock, rate in published.items()}
    made = correction.scaled(made, published, rates, fitting.LOCKS)
    assert made.source.startswith(
        "from a profile of today; its scale from a made-up study: pthread,"
    )
    assert made.operation is not None
    assert made.operation.rate(10_000.0, 64) == pytest.approx(10)


def test_a_correction_is_the_estimate_on_its_machine(tmp_path: Path) -> None:
    """And a part of the simulated change on another one."""
    model = generic.library()["one-lock-50-7-1"][0]
    about = Estimate("a-64", 8, 0.5, {"hmcs": (30.0, 10.0)})
    path = tmp_path / file_name("made", 1)
    path.write_text(as_toml(replace(model, title="made", estimate=about)))
    again = files.load(tmp_path)["made"][0].estimate
    assert again == about
    assert again.corrected("hmcs", 10.0) == pytest.approx(30)
    assert again.corrected("hmcs", 40.0) == pytest.approx(60)
    assert again.corrected("futex", 40.0) == 40.0


def test_generic_programs_are_models(tmp_path: Path) -> None:
    for name, (model,) in generic.library().items():
        path = tmp_path / "model.toml"
        path.write_text(as_toml(model))
        assert load(path).simulator_input() == model.simulator_input()
        assert generic.family(name) != name


def test_shipped_skeletons_say_where_they_are_from() -> None:
    skeletons = files.load(SHIPPED)
    assert len(skeletons) >= 25
    for name, models in skeletons.items():
        for model in models:
            assert model.title == name
            assert "fitted to" in model.source or "profile" in model.source
            assert len(model.fitted_locks) <= 4
            assert model.operation is not None


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["made.toml"], "not named as a skeleton"), ([], "no skeletons in")],
)
def test_a_folder_without_skeletons_is_refused(
    tmp_path: Path, names: list[str], reason: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    with pytest.raises(LockwrightError, match=reason):
        files.load(tmp_path)


def test_an_application_without_a_skeleton_is_refused() -> None:
    with pytest.raises(LockwrightError, match="no skeleton of 'kyotocabine'") as refusal:
        files.load(SHIPPED, ["kyotocabine"])
    assert "kyotocabinet" in refusal.value.todo


def test_the_first_nodes_of_a_machine() -> None:
    whole = machine.load("a-64")
    assert [whole.with_nodes(n).processors for n in (1, 2, 3, 4, 8)] == [8, 16, 32, 32, 64]
    assert whole.with_nodes(8) == whole
    assert all(max(pair) < 4 for pair in whole.with_nodes(4).two_hops)
    with pytest.raises(LockwrightError, match="has 8 nodes, not 9"):
        study.places_by_nodes(whole, [9])


def planned(seed: int = 1) -> study.Plan:
    programs = dict(list(generic.library().items())[:2])
    places = study.places_by_nodes(machine.load("a-64"), [1])
    return study.plan(programs, ["pthread", "mcs-spin"], places, [seed], 0.0001)


def test_a_study_is_resumed_where_it_ended(tmp_path: Path) -> None:
    path, plan = tmp_path / "study.csv", planned()
    study.begin(path)
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(row.fields(None) for row in plan.rows[:3])
        file.write("a-64 (predicted),one-lo")
    done = study.resume(path, plan)
    assert plan.missing(done) == list(plan.rows[3:])
    assert not path.read_text().endswith("one-lo")


def test_predictions_of_other_inputs_are_refused(tmp_path: Path) -> None:
    path, plan = tmp_path / "study.csv", planned()
    study.begin(path)
    with path.open("a", newline="") as file:
        csv.writer(file).writerow(plan.rows[0].fields(None))
    with pytest.raises(LockwrightError, match=r"study.csv:2: predicted from another"):
        study.resume(path, planned(seed=2))
    fields = plan.rows[0].fields(None)
    fields[6], fields[8] = "2", "1"
    path.write_text("".join(",".join(line) + "\n" for line in (study.COLUMNS, fields)))
    with pytest.raises(LockwrightError, match=r"study.csv:2: predicted from another"):
        study.resume(path, plan)
    with pytest.raises(LockwrightError, match="there is a file"):
        study.begin(path)
    path.write_text("application,lock\n")
    with pytest.raises(LockwrightError, match="not a predicted study"):
        study.resume(path, plan)
