"""Runs that came to no figure are told of, and speak against their lock whatever the others say."""

from pathlib import Path

import pandas as pd
import pytest
from lockwright_lab.study import descriptive, reading
from lockwright_lab.study.analysis import analyse
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.descriptive import unfinished
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.report import html
from lockwright_lab.study.report.all_figures import figures
from lockwright_lab.study.report.links import BEST, HARMFUL
from lockwright_lab.study.report.overview import takeaway
from lockwright_lab.study.report.verdicts import MetricView, verdicts_at
from lockwright_lab.study.rules import Margin

from . import made

GOOD = {"x": 10.0, "y": 10.0, "z": 1.0}


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    """Of y, as good as x, one of five runs hangs; w always crashes; v has a warm-up run."""
    lines = ["app,lock,threads,outcome,throughput"]
    for lock, good in GOOD.items():
        lines += [f"a,{lock},8,finished,{good + run / 10}" for run in range(4)]
    lines += ["a,y,8,timeout,", "a,w,8,crash,", "a,w,8,crash,", "a,x,8,warm-up,9"]
    (tmp_path / "m.csv").write_text("\n".join(lines) + "\n")
    return reading.read([tmp_path])


@pytest.fixture
def part(data: DataSet) -> MachineMetric:
    (part,) = analyse(data).parts
    return part


def test_they_are_counted_with_the_runs_that_did(data: DataSet) -> None:
    sample = data.sample("m", "throughput")
    assert sample is not None
    lines = [tuple(line) for line in unfinished(sample).itertuples(index=False)]
    assert lines == [("a", 8, "w", 2, 2, "crash"), ("a", 8, "y", 1, 5, "timeout")]


def test_such_a_lock_is_to_be_avoided(part: MachineMetric) -> None:
    words = verdicts_at(part, "max").verdict.loc["a"].to_dict()
    assert words == {"x": BEST, "y": HARMFUL, "z": HARMFUL}


def test_such_a_lock_is_not_among_the_best(part: MachineMetric) -> None:
    """Neither in the tables nor in the headline."""
    assert part.best["max"].to_dict() == {"x": 1.0, "y": 0.0, "z": 0.0}
    assert "; x is among the best for all of them" in takeaway(MetricView(part))


def test_a_lock_without_any_figure_is_not_among_the_best() -> None:
    """v has none for application a, and is as good as x for b."""
    figures = {("a", 8, "x"): 5.0, ("b", 8, "x"): 5.0, ("b", 8, "v"): 5.0}
    lost = pd.DataFrame([("a", 8, "v")], columns=["application", "count", "lock"])
    shares = descriptive.best_share(made.of(figures), Margin(), lost)
    assert shares["max"].to_dict() == {"v": 0.5, "x": 1.0}


def test_the_page_and_the_answer_name_them(data: DataSet) -> None:
    found = analyse(data)
    text = html.render(data, found, figures(data, found, "x"), "A study", [])
    assert "(2 of 2 runs: crash)" in text
    assert "(1 of 5 runs: timeout)" in text
    (harm,) = (each for each in found.answers if each.question == "Is every lock harmful?")
    assert harm.text.endswith("Runs of these came to no figure: w (a); y (a).")
    assert any(table.name == "m.throughput.unfinished" for table in found.tables)
