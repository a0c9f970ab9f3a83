"""`study predict`, `bench skeletons` and `bench published`, on made programs and data."""

import csv
import json
import random
import re
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.predict.skeletons import fitting, generic
from lockwright.predict.skeletons.files import file_name
from lockwright.run import tools
from lockwright.simulate.model import as_toml

from .conftest import Cli

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

LOCKS = "pthread,mcs-spin,ticket"
SHORT = ("--machine", "a-64", "--seconds", "0.0001")


@pytest.fixture
def skeletons(tmp_path: Path) -> Path:
    """Of two applications, one with two models."""
    folder = tmp_path / "skeletons"
    folder.mkdir()
    programs = generic.library()
    models = [programs[name][0] for name in ("one-lock-300-7-1", "barrier-2000-1-1")]
    for name, number, model in (("one", 1, 0), ("one", 2, 1), ("two", 1, 1)):
        (folder / file_name(name, number)).write_text(as_toml(models[model]))
    return folder


def test_a_predicted_study_is_analysed(cli: Cli, skeletons: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    words = ("--skeletons", skeletons, "--locks", LOCKS, "--nodes", "1,2", "-o", path)
    result = cli("study", "predict", *SHORT, *words)
    assert result.status == 0, result.err
    assert "18 predicted runs to make, in 12 simulations" in result.err
    assert "18 predicted runs; none was measured." in result.out
    rows = list(csv.DictReader(path.open(newline="")))
    assert {row["machine"] for row in rows} == {"a-64 (predicted)"}
    assert {(row["nodes"], row["threads"]) for row in rows} == {("1", "8"), ("2", "16")}
    by_key = {(r["application"], r["run"], r["lock"], r["nodes"]): r["throughput"] for r in rows}
    assert len(by_key) == 18
    # The same model, so the same simulation.
    assert by_key["one", "2", "ticket", "2"] == by_key["two", "1", "ticket", "2"]
    analysed = cli("study", "analyse", path)
    assert analysed.status == 0, analysed.err
    assert "a-64 (predicted)" in analysed.out


def test_a_predicted_study_is_resumed(cli: Cli, skeletons: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    words = ("--skeletons", skeletons, "--threads", "4", "-o", path)
    assert cli("study", "predict", *SHORT, *words, "--locks", "pthread").status == 0
    begun = path.read_text()
    more = cli("study", "predict", *SHORT, *words, "--locks", LOCKS, "--resume")
    assert more.status == 0, more.err
    assert "6 predicted runs to make, in 4 simulations" in more.err
    assert path.read_text().startswith(begun)
    other = cli("study", "predict", *SHORT, *words, "--locks", LOCKS, "--resume", "--seed", "2")
    assert other.status == 2
    assert "predicted from another machine, model, seed or length" in other.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--apps", "on"), "no skeleton of 'on'"),
        (("--nodes", "9"), "a-64 has 8 nodes, not 9"),
        (("--nodes", "1", "--threads", "1"), "exclude each other"),
        (("--locks", "mcs-spinn"), "no lock is named 'mcs-spinn'"),
        (("--machine", "a-65"), "no machine is named 'a-65'"),
        (("--skeletons", "/nowhere"), "no directory '/nowhere'"),
        (("-o", "/nowhere/study.csv"), "cannot write /nowhere/study.csv"),
    ],
)
def test_refusals(
    cli: Cli, skeletons: Path, tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    own = ("--skeletons", skeletons, "-o", tmp_path / "study.csv")
    result = cli("study", "predict", *SHORT, *own, *words)
    assert result.status == 2
    assert reason in re.sub(r"\s+", " ", result.err)
    assert not (tmp_path / "study.csv").exists()


HIDDEN = {"hot": "one-lock-300-7-1", "cool": "many-locks-8-50-200-1", "wide": "one-lock-50-0-6"}
"""Generic programs that made applications are."""


@pytest.fixture
def made_data(tmp_path: Path) -> tuple[Path, Path]:
    """A library with random rates, and the published runs of applications that are HIDDEN."""
    draw = random.Random(1)
    library = [["application", "lock", "nodes", "threads", "sections_per_second", "outcome"]]
    rates: dict[tuple[str, str, int], float] = {}
    for name in generic.library():
        for nodes in (1, 4, 8):
            for lock in fitting.LOCKS:
                rate = rates[name, lock, nodes] = 10 ** draw.uniform(4, 6)
                library.append([name, lock, str(nodes), str(8 * nodes), f"{rate:.9g}", "finished"])
    runs = [["bench", "node", "strategy", "throughput"]]
    for application, name in HIDDEN.items():
        for (each, lock, nodes), rate in rates.items():
            if each == name:
                runs += [[application, str(nodes), lock, f"{rate / 1000:.9g}"]] * 2
    paths = tmp_path / "library.csv", tmp_path / "runs.csv"
    for path, rows in zip(paths, (library, runs), strict=True):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return paths


def test_skeletons_of_made_data(cli: Cli, made_data: tuple[Path, Path], tmp_path: Path) -> None:
    library, runs = made_data
    folder = tmp_path / "fitted"
    words = (runs, "--machine", "a-64", "--library", library, "-o", folder)
    result = cli("bench", "skeletons", *words)
    assert result.status == 0, result.err
    for application, name in HIDDEN.items():
        text = (folder / file_name(application, 1)).read_text()
        assert f"generic program {name}, fitted to the published throughputs of runs" in text
        assert "sections = 1000\n" in text
        assert 'machine = "a-64"\nnodes = 8\n' in text
    refused = cli("bench", "skeletons", *words, "--apps", "hott")
    assert (refused.status, "no application 'hott'" in refused.err) == (2, True)
    many = cli("bench", "skeletons", *words, "--fit-locks", "pthread,ttas,ticket,hmcs,mcs-spin")
    assert (many.status, "more than four locks" in many.err) == (2, True)


@pytest.mark.parametrize(("power", "tau"), [(1, 1.0), (-1, -1.0)])
def test_a_comparison_with_made_data(cli: Cli, tmp_path: Path, power: int, tau: float) -> None:
    """Published runs that are the predictions themselves, or their reciprocals."""
    machine = tmp_path / "half.toml"
    shape = 'source = "half of it"\npackages = 2\ntwo_hops = [[0, 3], [1, 2]]\n'
    machine.write_text(f'like = "a-64"\ntitle = "half"\n[shape]\n{shape}')
    folder, study, runs = (tmp_path / name for name in ("skeletons", "study.csv", "runs.csv"))
    folder.mkdir()
    (model,) = generic.library()["one-lock-300-7-1"]
    (folder / file_name("hot", 1)).write_text(as_toml(model))
    words = ("--skeletons", folder, "--locks", f"{LOCKS},ttas,hmcs", "--machine", machine)
    assert cli("study", "predict", *words, "--nodes", "4", "-o", study).status == 0
    with runs.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["bench", "node", "strategy", "throughput"])
        for row in csv.DictReader(study.open(newline="")):
            value = float(row["throughput"]) ** power
            writer.writerows([["hot", "4", row["lock"], value]] * 2)
    answer = tmp_path / "answer.json"
    options = ("--other", runs, "-o", tmp_path / "published", "--json", answer)
    result = cli("bench", "published", runs, *words, *options)
    assert result.status == 0, result.err
    (found,) = json.loads(answer.read_text())["applications"]
    assert (found["application"], found["family"], found["locks"]) == ("hot", "one-lock", 5)
    assert found["predicted"] == pytest.approx(tau)
    assert found["itself"] == found["other"] == pytest.approx(1)
    assert f"median tau-b of 1 lock-sensitive applications: {tau:.2f}" in result.out
