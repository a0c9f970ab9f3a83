"""The sentences of a study begin with the plain answer that its tables give."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from lockwright_lab.study import answers
from lockwright_lab.study.rules import Margin, Shown

LOCKS = ["x", "y", "z"]


def part(better: list[list[float]], **more: Any) -> Any:
    """Two lock-sensitive applications; better: the share of them where lock i beats lock j."""
    effect = pd.DataFrame(
        {"sensitive": [True, True], "undecided": [False, False], "gain_max": [0.5, 2.0]},
        index=["a", "b"],
    )
    shares = pd.DataFrame({"max": [0.5, 0.5, 0.0], "opt": [0.5, 0.5, 0.0]}, index=LOCKS)
    matrix = pd.DataFrame(better, LOCKS, LOCKS).assign(average=0.0)
    given = {"effect": effect, "best": shares, "harmful": shares, "matrices": {"max": matrix}}
    given |= {"changes": None, "unfinished": pd.DataFrame(), "rule": Margin()}
    sample = SimpleNamespace(title="m", counted="threads")
    return SimpleNamespace(**given | {"sample": sample} | more)


@pytest.mark.parametrize(
    ("better", "begin"),
    [
        # x before y before z, whatever the application.
        ([[0, 0.5, 1], [0, 0, 1], [0, 0, 0]], "Yes:"),
        # x and y change places, and are before z.
        ([[0, 0.5, 1], [0.5, 0, 1], [0, 0, 0]], "In part:"),
        ([[0, 0.5, 0.5], [0.5, 0, 1], [0.5, 0, 0]], "No:"),
    ],
)
def test_hierarchy(better: list[list[float]], begin: str) -> None:
    message = {each.question: each.text for each in answers.answers(part(better))}
    text = message["Is there a hierarchy of locks?"]
    assert text.startswith(begin)
    if begin != "Yes:":
        crossed = {"In part:": "1 (33 %)", "No:": "2 (67 %)"}[begin]
        assert f"of 3 pairs of locks that differ at all, {crossed}" in text


def test_what_the_runs_do_not_show_is_no_answer() -> None:
    """By a margin the tables give an answer; by runs only as far as these show it."""
    always = pd.DataFrame({"max": [1.0, 1.0, 0.5], "opt": [1.0, 1.0, 0.5]}, index=LOCKS)
    harmless = pd.DataFrame({"max": [0.0, 0.5, 0.5], "opt": [0.0, 0.5, 0.5]}, index=LOCKS)
    begins = {}
    for shown, rule in ((False, Margin()), (True, Shown())):
        same: list[list[float]] = [[0, 0.5, 1], [0, 0, 1], [0, 0, 0]]
        given = part(same, best=always, harmful=harmless, rule=rule)
        begins[shown] = [each.text.split(":")[0] for each in answers.answers(given)][1:]
    assert begins[False] == ["Yes", "Yes", "No"]
    assert begins[True] == [
        "The runs do not tell",
        "Yes, as far as the runs show",
        "No, as far as the runs show",
    ]


@pytest.mark.parametrize(
    ("correlations", "begin"),
    [([0.9, 1.0], "Yes: for 2 of 2"), ([0.2, 0.95, 1], "Mostly: for 2 of 3"), ([0.2, 1], "No:")],
)
def test_energy(correlations: list[float], begin: str) -> None:
    (answer,) = answers.energy_answers("m", pd.Series(dict(enumerate(correlations))))
    assert answer.text.startswith(begin)


def test_latency() -> None:
    """In `a` the fastest lock has all but 4 % of the least latency, in `b` twice the least one."""
    at_max = pd.DataFrame(
        {"latency": [1.0, 1.04, 1.0, 2.0], "time": [1.0, 0.5, 1.0, 0.5]}, index=["a", "a", "b", "b"]
    )
    growth = pd.DataFrame({"time": [3.0], "latency": [20.0]}, index=["one to max"])
    (answer,) = answers.latency_answers("m", growth, at_max)
    assert answer.text.startswith("No: for 1 of 2 applications")
    assert "execution times grow 3.0 times and tail latencies 20.0 times" in answer.text
