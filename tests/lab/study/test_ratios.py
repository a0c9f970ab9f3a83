"""The ratios of locks to the baseline."""

import math

import pytest
from lockwright.stats.inference import independent_ratio
from lockwright_lab.study import ratios

from . import made

BASE = [10.0, 11.0, 10.5]
BETTER = [20.0, 23.0, 21.0]
FIGURES = {
    ("cache", 2, "pthread"): BASE,
    ("cache", 2, "futex-rw"): BETTER,
    ("cache", 8, "pthread"): BASE,
    ("cache", 8, "futex-rw"): [5.0, 5.0, 5.0],
    ("cache", 8, "shfl-rw"): [10.4, 10.6, 10.5],
}


def test_the_ratio_is_that_of_the_geometric_means() -> None:
    """Its interval is Welch's, except that variances are moderated by each other."""
    found = ratios.ratios(made.of(FIGURES), "pthread")
    assert list(found.columns) == list(ratios.COLUMNS)
    assert [tuple(line) for line in found[["count", "lock"]].to_numpy()] == [
        (2, "futex-rw"),
        (8, "shfl-rw"),
        (8, "futex-rw"),
    ]
    first = found.iloc[0]
    welch = independent_ratio(BETTER, BASE, lower_is_better=False)
    assert welch is not None
    assert first.ratio == pytest.approx(welch.value)
    assert first.low < first.ratio < first.high
    assert math.sqrt(first.low * first.high) == pytest.approx(first.ratio)
    assert welch.low is not None
    assert first.low == pytest.approx(welch.low, rel=0.1)
    assert first.low > 1
    assert found.iloc[1].low < 1 < found.iloc[1].high
    assert found.iloc[2].high < 1


def test_single_runs_have_no_interval() -> None:
    found = ratios.ratios(made.of({("a", 1, "pthread"): 2.0, ("a", 1, "x"): 3.0}), "pthread")
    assert found.ratio.tolist() == pytest.approx([1.5])
    assert found.low.isna().all()
    assert found.high.isna().all()


def test_without_runs_of_the_baseline_there_are_no_ratios() -> None:
    figures = {("a", 1, "x"): BASE, ("b", 1, "x"): BASE, ("b", 1, "pthread"): BASE}
    assert list(ratios.ratios(made.of(figures), "pthread").index) == ["b"]
    assert ratios.ratios(made.of(figures), "mcs-stp").empty
