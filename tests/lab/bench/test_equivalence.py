"""The test of equivalence and the comparison of two forms, with manually computed values."""

import math
import random

import pytest
from lockwright.stats.equivalence import LIMIT, _at_most, equivalence
from lockwright_lab.bench.interposition import summarise
from scipy.stats import wilcoxon


def test_chances_of_rank_sums() -> None:
    """Of the eight choices among three ranks, the sums 0 to 6 have 1 1 1 2 1 1 1."""
    assert list(_at_most(3)) == [1 / 8, 2 / 8, 3 / 8, 5 / 8, 6 / 8, 7 / 8, 1]


def test_five_differences_are_the_fewest_that_show_equivalence() -> None:
    """The probability that all are on one side of the limit is 1 / 2 ** n."""
    four, five = equivalence([0.0] * 4), equivalence([0.0] * 5)
    assert four is not None
    assert five is not None
    assert (four.p_value, four.verdict, four.low) == (1 / 16, "open", None)
    assert (five.p_value, five.verdict) == (1 / 32, "yes")
    assert equivalence([]) is None


def test_centre_and_interval() -> None:
    """The fifteen means of 1, 2, 3, 4 and 10 have the median 3; the interval contains all."""
    found = equivalence([0.03, 0.01, 0.10, 0.02, 0.04])
    assert found is not None
    # 1 1.5 2 2 2.5 2.5 3 3 3.5 4 5.5 6 6.5 7 10: the eighth is 3.
    assert found.centre == pytest.approx(0.03)
    assert (found.low, found.high) == (0.01, 0.10)
    # Five of them are beyond 5 %: of 32 choices, 1 + 1 + 1 + 2 + 2 + 3 have a sum of ranks up to 5.
    assert found.p_value == pytest.approx(10 / 32)
    assert found.verdict == "open"


def test_more_rounds_narrow_the_interval() -> None:
    """In eight rounds a sum up to 5 has a chance of 10 in 256, up to 6 of 14: the sixth mean."""
    values = [0.01 * n for n in range(1, 9)]
    found = equivalence(values)
    assert found is not None
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    assert found.low == pytest.approx(means[5])
    assert found.high == pytest.approx(means[-6])


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([math.log(1.1)] * 5, "no"),
        ([-math.log(1.1)] * 5, "no"),
        ([LIMIT] * 5, "open"),
        ([-LIMIT] * 5, "open"),
        ([0.01, -0.01] * 3, "yes"),
        # One outlier does not change the verdict of the other rounds.
        ([0.001 * n for n in range(9)] + [3.0], "yes"),
        # Equally many differences on both sides.
        ([0.2, -0.2] * 4, "open"),
    ],
)
def test_verdicts(differences: list[float], verdict: str) -> None:
    """They are within the limit, beyond it on either side, or open; the limit is not within."""
    found = equivalence(differences)
    assert found is not None
    assert found.verdict == verdict


def test_agrees_with_the_signed_rank_tests_of_scipy() -> None:
    """The p value is the larger of two exact one-sided tests."""
    source = random.Random(7)
    for number in range(1, 25):
        values = [source.gauss(0.01, 0.05) for _ in range(number)]
        found = equivalence(values)
        assert found is not None
        below = wilcoxon([v - LIMIT for v in values], alternative="less", method="exact")
        above = wilcoxon([v + LIMIT for v in values], alternative="greater", method="exact")
        assert found.p_value == pytest.approx(max(below.pvalue, above.pvalue))


def pairs(direct: list[float], interposed: list[float]) -> list[tuple[float, float]]:
    return list(zip(direct, interposed, strict=True))


def test_locks_together() -> None:
    """Three locks have a clear order in each form; then the first two change places in one form."""
    slow, fast, third = ([x + n for n in range(5)] for x in (100.0, 200.0, 400.0))
    same = summarise(
        {
            "a": pairs(slow, slow),
            "b": pairs(fast, fast),
            "c": pairs(third, third),
        }
    )
    assert same["mean_difference"] == 0
    assert (same["within"], same["beyond"], same["open"]) == (3, 0, 0)
    assert (same["ordered"], same["turned_round"]) == (3, 0)
    turned = summarise(
        {
            "a": pairs(slow, fast),
            "b": pairs(fast, slow),
            "c": pairs(third, third),
        }
    )
    assert (turned["within"], turned["beyond"]) == (1, 2)
    assert (turned["ordered"], turned["turned_round"]) == (3, 1)
    # In the order of the names a is worse than b and c, b than c; of these, the first is turned.
    assert turned["kept_worse"] == pytest.approx(2 / 3)
    assert turned["kept_better"] is None


def test_mean_difference_of_locks() -> None:
    """The mean is taken on logarithms: ratios of 0.81 and 1 have the mean 0.9."""
    fast = [100.0] * 5
    found = summarise({"a": pairs(fast, [81.0] * 5), "b": pairs(fast, fast)})
    assert found["mean_difference"] == pytest.approx(-0.1)
    assert summarise({"a": []})["locks"] == 0
