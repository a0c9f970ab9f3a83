"""Variances of few runs are steadied as Smyth's estimator has it, and make up no differences."""

import numpy as np
import pandas as pd
import pytest
from lockwright.stats.moderated import moderated
from lockwright_lab.study import cells
from lockwright_lab.study.dataset import COUNT, Sample
from lockwright_lab.study.rules import Shown


def test_equal_variances_are_pooled() -> None:
    """Four locks with about the same spread: each gets the common one, and all degrees."""
    variances, degrees = moderated(np.array([1.0, 1.1, 0.9, 1.0]), np.full(4, 2.0))
    assert variances == pytest.approx([1.0] * 4)
    assert degrees == pytest.approx([8.0] * 4)


def test_variances_far_apart_stay_apart() -> None:
    given = np.array([1e-6, 1.0, 1e6, 1e12])
    variances, degrees = moderated(given, np.full(4, 4.0))
    assert (np.diff(variances) > 0).all()
    assert variances[3] / variances[0] > 1e6
    assert (degrees < 5).all()


def test_the_prior_is_found_again() -> None:
    """Drawn with d0 = 6 and s0^2 = 4: from 20,000 locks of 21 runs, to 5 %."""
    random = np.random.default_rng(1)
    of_locks = 4.0 * 6 / random.chisquare(6, 20_000)
    seen = of_locks * random.chisquare(20, 20_000) / 20
    variances, degrees = moderated(seen, np.full(20_000, 20.0))
    worth = degrees[0] - 20
    common = (variances[0] * degrees[0] - 20 * seen[0]) / worth
    assert worth == pytest.approx(6, rel=0.05)
    assert common == pytest.approx(4, rel=0.05)


def test_locks_left_out_stay_out() -> None:
    given = np.array([1.0, np.nan, 1.0, 1.0])
    variances, degrees = moderated(given, np.where(np.isnan(given), np.nan, 2.0))
    assert np.isnan(variances[1])
    assert np.isnan(degrees[1])
    assert variances[0] == pytest.approx(1.0)


def test_two_variances_are_left_alone() -> None:
    variances, degrees = moderated(np.array([1.0, 4.0]), np.full(2, 2.0))
    assert list(variances) == [1.0, 4.0]
    assert list(degrees) == [2.0, 2.0]


@pytest.mark.full("draws many tables, for half a minute")
@pytest.mark.parametrize("apart", [False, True])
def test_alike_locks_are_seldom_told_apart(apart: bool) -> None:
    """Three runs of six locks that are alike, with spreads that are alike or 30 times apart: some
    pair is shown to differ in one of 20 samples at most, within what 200 samples can say."""
    random = np.random.default_rng(2)
    wide = np.geomspace(0.01, 0.3, 6) if apart else np.full(6, 0.1)
    wrong = 0
    for _ in range(200):
        values = np.exp(wide * random.standard_normal((3, 6)))
        frame = pd.DataFrame(
            [
                {"application": "a", COUNT: 1, "lock": f"l{lock}", "value": values[run, lock]}
                for run in range(3)
                for lock in range(6)
            ]
        )
        found = cells.condense(Sample("m", "throughput", "threads", frame))
        wrong += bool(Shown().better(found.row(("a", 1))).any())
    assert wrong <= 200 * 0.05 + 2 * (200 * 0.05 * 0.95) ** 0.5
