"""Tests of the rules: equal locks are seldom told apart, and different ones are."""

import numpy as np
import pytest
from lockwright_lab.study import cells, effect
from lockwright_lab.study.rules import Margin, Shown, holm

from . import made


def row(figures: dict[str, list[float]]) -> cells.Row:
    found = made.of({("a", 1, lock): values for lock, values in figures.items()})
    return found.row(("a", 1))


def test_holm() -> None:
    """Of 0.005, 0.01, 0.03 and 0.04, the first two are below 0.05/4 and 0.05/3; 0.03 is not below
    0.05/2, so 0.04 does not count although it is below 0.05.
    """
    chances = np.array([[np.nan, 0.01, 0.04], [0.03, np.nan, np.nan], [0.005, np.nan, np.nan]])
    assert holm(chances).tolist() == [
        [False, True, False],
        [False, False, False],
        [True, False, False],
    ]


def test_a_clear_difference_is_shown() -> None:
    better = Shown().better(row({"x": [100, 101, 99, 100], "y": [80, 81, 79, 80]}))
    assert better.tolist() == [[False, True], [False, False]]


def test_welch() -> None:
    """The rule agrees with scipy's own test on both sides of the limit, which is 0.025 for two
    hypotheses.
    """
    from scipy.stats import ttest_ind

    answers = []
    for shift in np.linspace(1, 6, 21):
        logs = {"x": [1.0, 2.0, 3.0], "y": [1.0 + shift, 2.5 + shift, 3.2 + shift]}
        p = ttest_ind(logs["y"], logs["x"], equal_var=False, alternative="greater").pvalue
        found = row({lock: list(np.exp(values)) for lock, values in logs.items()})
        answers.append(bool(Shown().better(found)[1, 0]))
        assert answers[-1] is bool(p <= 0.025)
    assert set(answers) == {True, False}


def test_locks_that_are_alike_are_seldom_told_apart() -> None:
    """At most 5 of 100 tables differ, whatever the locks' noise: 400 tables of 8 equal locks."""
    random = np.random.default_rng(1)
    noise = np.array([0.005, 0.01, 0.01, 0.02, 0.02, 0.05, 0.1, 0.2])
    wrong = 0
    for _ in range(400):
        logs = random.normal(0, noise, (5, 8))
        variance = logs.var(axis=0, ddof=1) / 5
        mean = logs.mean(axis=0)
        found = cells.Row(
            np.exp(mean), mean, variance, np.full(8, 4.0), np.sqrt(variance), np.full(8, 4.0)
        )
        wrong += bool(Shown().better(found).any())
    # Three standard deviations above 20 of 400.
    assert wrong <= 20 + 3 * np.sqrt(20)


def test_one_step_of_a_timer_is_no_difference() -> None:
    """All runs of x took 100 steps, all of y 101, and some of z 102 or 103."""
    figures = {"x": [1 / 100] * 5, "y": [1 / 101] * 5, "z": [1 / 102] * 3 + [1 / 103] * 2}
    better = Shown().better(row(figures))
    assert not better[0, 1]
    assert better[0, 2]


def test_a_single_run_shows_nothing() -> None:
    assert not Shown().better(row({"x": [100.0], "y": [1.0, 1.1]})).any()


def test_among_the_best_and_harmful_as_shown() -> None:
    found = row(
        {
            "x": [100, 101, 99, 100, 100.5],
            "y": [98, 104, 96, 103, 100],
            "z": [90, 91, 89, 90, 90.5],
            "w": [60, 61, 59, 60, 60.5],
        }
    )
    locks = ["w", "x", "y", "z"]
    rule = Shown()
    assert dict(zip(locks, rule.among_best(found), strict=True)) == {
        "w": False,
        "x": True,
        "y": True,
        "z": False,
    }
    # 10 % behind is worse, but not by more than 15 %.
    assert dict(zip(locks, rule.harmful(found), strict=True)) == {
        "w": True,
        "x": False,
        "y": False,
        "z": False,
    }


def test_noise_alone_does_not_put_a_lock_among_the_best() -> None:
    """y is not shown to be worse, but its mean is 46 % below."""
    found = row({"x": [100, 180, 20], "y": [100, 50, 12]})
    assert not Shown().better(found).any()
    assert Shown().among_best(found).tolist() == [True, False]


def test_the_relation_is_the_same_if_it_is_shown_both_times() -> None:
    clear = row({"x": [100, 101, 99], "y": [80, 81, 79]})
    unclear = row({"x": [100, 140, 60], "y": [80, 81, 79]})
    assert Shown().same([clear, clear]).all()
    assert not Shown().same([clear, unclear])[0, 1]


@pytest.mark.parametrize("rule", [Margin(), Shown()])
def test_a_lock_that_was_not_run_is_nothing(rule: Margin | Shown) -> None:
    found = made.of(
        {("a", 1, "x"): [1.0, 1.1], ("a", 1, "y"): [9.0, 9.1], ("b", 1, "z"): [5.0, 5.1]}
    ).row(("a", 1))
    assert rule.among_best(found).tolist() == [False, True, False]
    assert not rule.better(found)[2].any()
    assert not rule.better(found)[:, 2].any()
    assert not rule.harmful(found)[2]


def test_intervals_hold_the_figure_that_is_known() -> None:
    """Some 95 intervals of R.Dev contain the true one, of 100 applications with the same locks."""
    random = np.random.default_rng(2)
    true = np.array([100, 110, 125, 140, 160])
    figures = {
        (f"{number:03}", 1, lock): list(mean * np.exp(random.normal(0, 0.03, 5)))
        for number in range(100)
        for lock, mean in zip("vwxyz", true, strict=True)
    }
    table = effect.effect(made.of(figures), Shown())
    wanted = true.std(ddof=1) / true.mean()
    held = ((table.rdev_max_low <= wanted) & (wanted <= table.rdev_max_high)).sum()
    assert held >= 95 - 3 * np.sqrt(95 * 0.05)


@pytest.mark.parametrize("number", [8, 28])
def test_noise_is_no_effect_of_locks(number: int) -> None:
    """Locks that are all alike have an R.Dev of 0, and the intervals hold it although their noise
    has driven them apart, which it does the more the more locks there are. Without noise the figure
    comes out too large as often as too small, and nothing is smaller than 0."""
    random = np.random.default_rng(3)
    figures = {
        (f"{application:02}", 1, f"lock{lock:02}"): list(np.exp(random.normal(0, 0.05, 4)))
        for application in range(40)
        for lock in range(number)
    }
    table = effect.effect(made.of(figures), Shown())
    assert (table.rdev_max > 0.01).mean() > 0.9
    for figure in ("rdev", "gain"):
        assert (table[f"{figure}_max_low"] == 0).mean() > 0.9
        quiet = table[f"{figure}_max_quiet"]
        assert (quiet == 0).mean() > 0.5 - 2 * (0.25 / 40) ** 0.5
        assert quiet.mean() < table[f"{figure}_max"].mean() / 2


def test_a_run_that_collapsed_hides_no_effect() -> None:
    """Locks that differ twofold, and in one of them a run that came to a hundredth."""
    figures = {
        ("a", 1, lock): [m, m * 1.01, m * 0.99] * 3
        for lock, m in {"v": 50, "w": 60, "x": 90, "y": 100}.items()
    }
    figures["a", 1, "z"] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 101.0, 99.0, 1.0]
    line = effect.effect(made.of(figures), Shown()).loc["a"]
    assert line.sensitive
    assert line.rdev_max_low < line.rdev_max_quiet < line.rdev_max_high
    assert line.rdev_max_low < line.rdev_max < line.rdev_max_high


def test_an_application_is_sensitive_if_its_interval_says_so() -> None:
    """The means of `noisy` are as far apart as those of `clear`, by chance as far as runs tell."""
    table = effect.effect(
        made.of(
            {
                ("clear", 1, "x"): [100, 101, 99, 100],
                ("clear", 1, "y"): [120, 121, 119, 120],
                ("noisy", 1, "x"): [60, 140, 80, 120],
                ("noisy", 1, "y"): [80, 160, 90, 150],
                ("alike", 1, "x"): [100, 101, 99, 100],
                ("alike", 1, "y"): [100, 101, 99, 101],
            }
        ),
        Shown(),
    )
    assert effect.sensitive(table) == ["clear"]
    assert list(table.index[table.undecided]) == ["noisy"]
