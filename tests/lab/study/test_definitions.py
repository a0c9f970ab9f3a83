"""Definitions that no published table shows give what a hand computes from a few figures."""

import math

import pandas as pd
import pytest
from lockwright_lab.study import (
    best_lock_ratio,
    cells,
    changes,
    descriptive,
    effect,
    energy,
    latency,
    validation,
)
from lockwright_lab.study.rules import Margin

from . import made

RULE = Margin()

#: One application at two counts: at its best, z is at 1, and the others at 2.
APP = made.grid("a", {1: {"x": 10, "y": 8, "z": 5}, 2: {"x": 12, "y": 20, "z": 4}})


def test_an_application_is_sensitive_above_a_tenth() -> None:
    """Means of 1 and 1 + d have the relative deviation d / sqrt(2) / (1 + d / 2)."""
    for d, wanted in ((0.14, False), (0.16, True)):
        table = effect.effect(made.of({("a", 1, "x"): 1.0, ("a", 1, "y"): 1.0 + d}), RULE)
        assert (effect.sensitive(table) == ["a"]) is wanted


def test_changes_with_the_count() -> None:
    """From 1 to 2 threads, x over y reverses, y over z becomes equal, and x over z becomes
    reversed.
    """
    found = made.of(
        made.grid(
            "a",
            {
                1: {"x": 100, "y": 80, "z": 60},
                2: {"x": 80, "y": 100, "z": 98},
                4: {"x": 70, "y": 100, "z": 98},
            },
        )
    )
    line = changes.changes(found, RULE, [1, 2, 4]).loc["a"]
    assert line.to_dict() == {"1/2": 1, "2/4": 0, "1/2/4": 1, "reversed": pytest.approx(2 / 3)}


def test_margins_of_changes_overlap() -> None:
    """A ratio of 1.051 goes with 1.06 and with 1.04, in one direction; 1.06 and 1.04 differ."""

    def changed(first: float, second: float) -> float:
        grid = made.grid("a", {1: {"x": first, "y": 1}, 2: {"x": second, "y": 1}})
        return float(changes.changes(made.of(grid), RULE, [1, 2]).at["a", "1/2"])

    assert changed(1.04, 1.06) == 1
    assert changed(1.06, 1.051) == 0.5
    assert changed(1.04, 1.051) == 0
    assert changed(1.06, 1.5) == 0


def test_changes_skip_counts_that_were_not_run() -> None:
    rows = {**APP, **made.grid("b", {1: {"x": 1, "y": 2}, 4: {"x": 2, "y": 1}})}
    found = changes.changes(made.of(rows), RULE, [1, 2, 4])
    assert math.isnan(found.at["b", "1/2"])
    assert math.isnan(found.at["b", "1/2/4"])
    assert found.at["b", "reversed"] == 1


def test_usual_counts_are_those_of_most_applications() -> None:
    rows: dict[tuple[str, int, str], float] = {}
    for number in range(10):
        counts = (1, 2, 4) if number else (1, 2, 3)
        rows |= made.grid(str(number), {count: {"x": 1, "y": 2} for count in counts})
    assert changes.usual_counts(made.of(rows)) == [1, 2, 4]


def test_changes_between_machines() -> None:
    """Over the application and the locks that both have: one pair of three has another order."""
    first = made.of({**made.grid("a", {1: {"x": 100, "y": 80, "z": 60}}), ("b", 1, "x"): 1.0})
    second = made.of(made.grid("a", {8: {"w": 1, "x": 100, "y": 80, "z": 90}}))
    assert changes.between(first, second, RULE, "max") == pytest.approx(1 / 3)
    assert math.isnan(changes.between(made.of({("b", 1, "x"): 1.0}), second, RULE, "max"))


LATENCY = pd.DataFrame(
    [
        ("a", 1, "pthread", 100.0, 10.0),
        ("a", 2, "pthread", 50.0, 40.0),
        ("a", 1, "mcs-stp", 80.0, 20.0),
        ("a", 2, "mcs-stp", 160.0, 80.0),
        ("a", 2, "mcs-stp", 240.0, 80.0),
    ],
    columns=["application", "count", "lock", "throughput", "latency"],
)


def test_latency_against_throughput() -> None:
    table = latency.against_throughput(LATENCY, "max", "pthread")
    assert table.to_dict("list") == {
        "application": ["a", "a"],
        "lock": ["pthread", "mcs-stp"],
        "count": [2, 2],
        "latency": [1, 80 / 40],
        "time": [1, 50 / 200],
    }
    best = latency.against_throughput(LATENCY, "opt", "pthread").set_index("lock")
    assert best.loc["mcs-stp"].to_dict() == {
        "application": "a",
        "count": 2,
        "latency": 80 / 10,
        "time": 100 / 200,
    }
    assert latency.against_throughput(LATENCY, "max", "ttas").empty


def test_correlation_of_energy_and_throughput() -> None:
    """1, 2, 3 against 1, 3, 2: Pearson's r is 1/2. The runs of a configuration count once."""
    rows = pd.DataFrame(
        [("a", 1, "x", 1, 1), ("a", 2, "x", 1, 2), ("a", 2, "x", 3, 4), ("a", 1, "y", 3, 2)],
        columns=["application", "count", "lock", "throughput", "tpp"],
    )
    assert energy.correlation(rows).at["a", "pcc"] == pytest.approx(0.5)
    assert math.isnan(energy.correlation(rows.assign(tpp=1)).at["a", "pcc"])


def test_shift_of_the_best_count_for_energy() -> None:
    """x: from 2 to 1, y: 1 and 2 are within 5 %, z: the same."""
    throughput = made.grid("a", {1: {"x": 10, "y": 98, "z": 1}, 2: {"x": 20, "y": 100, "z": 2}})
    tpp = made.grid("a", {1: {"x": 20, "y": 100, "z": 1}, 2: {"x": 10, "y": 50, "z": 2}})
    found = energy.shift(made.of(tpp), made.of(throughput)).share
    assert found.to_dict() == pytest.approx({"lower": 1 / 3, "same": 2 / 3, "higher": 0})
    # Gain of the best count over the largest: x 100 % against 0, y 100 % against 0, z alike.
    gains = energy.gain_difference(made.of(tpp), made.of(throughput)).share
    assert gains.to_dict() == pytest.approx({"lower": 0, "same": 1 / 3, "higher": 2 / 3})


def test_best_lock_ratio() -> None:
    """x is on average 11 of the best locks' 15; the mean of ttas and pthread is no lock."""
    found = best_lock_ratio.best_lock_ratio(made.of(APP)).loc["a"]
    assert found.to_dict() == pytest.approx({"x": 11 / 15, "y": 14 / 15, "z": 4.5 / 15})
    assert best_lock_ratio.best_lock_ratio(made.of(APP), [2]).at["a", "x"] == pytest.approx(12 / 20)
    two = made.of(made.grid("a", {1: {"ttas": 10, "pthread": 20}}))
    mixed = best_lock_ratio.best_lock_ratio(two, mixed=best_lock_ratio.EXPECTED).loc["a"]
    assert mixed.to_dict() == pytest.approx({"ttas": 0.5, "pthread": 1, "pt-exp": 0.75})


def test_validation_of_interposition() -> None:
    """Three locks: two better by hand, by 10 and 20 %, one interposed, by 25 %."""
    by_hand, interposed = {"x": 110, "y": 120, "z": 80}, {"x": 100, "y": 100, "z": 100}
    rows = [
        ("a", lock, variant, value)
        for variant, line in (("manual", by_hand), ("interposed", interposed))
        for lock, value in line.items()
    ]
    frame = pd.DataFrame(rows, columns=["application", "lock", "variant", "throughput"])
    line = validation.validation(frame, "throughput", True, RULE).loc["a"]
    assert (line.manual_better, line.interposed_better) == (2, 1)
    assert line.manual_gain == pytest.approx(0.15)
    assert line.manual_sd == pytest.approx(math.sqrt(0.005))
    assert line.interposed_gain == pytest.approx(0.25)
    # By hand, x is worse than y and both are better than z; interposed, all are equal.
    assert (line.kept_better, line.kept_worse) == (0, 0)
    assert math.isnan(line.kept_equal)
    assert line.cost == pytest.approx((-10 - 20 + 20) / 3 / 120)
    assert line.slope == pytest.approx(0)
    assert line.equivalent > 0.05
    twin = frame.assign(throughput=[110.0, 120, 80, 109, 121, 80])
    same = validation.validation(twin, "throughput", True, RULE).loc["a"]
    assert same.equivalent < 0.01
    assert (same.kept_better, same.kept_worse) == (1, 1)
    dear = frame.assign(throughput=[110.0, 120, 80, 88, 95, 65])
    assert validation.validation(dear, "throughput", True, RULE).loc["a"].equivalent > 0.95


def test_variability() -> None:
    """Relative deviations of 0, 7.07 % and 28.3 %; a single run has none."""
    found = descriptive.variability(
        made.sample(
            {
                ("a", 1, "x"): [1.0, 1.0],
                ("a", 2, "x"): [0.95, 1.05],
                ("a", 1, "y"): [0.8, 1.2],
                ("a", 2, "y"): [5.0],
            }
        )
    )
    assert found.loc["all"].to_dict() == pytest.approx(
        {"above_5%": 2 / 3, "above_10%": 1 / 3, "above_20%": 1 / 3}
    )
    assert found.at["x", "above_5%"] == 0.5


def test_each_application_has_its_own_largest_count() -> None:
    found = made.of(
        {("a", 1, "x"): 1.0, ("a", 8, "x"): 2.0, ("b", 1, "x"): 3.0, ("b", 6, "x"): 4.0}
    )
    assert found.counts("max").x.to_dict() == {"a": 8, "b": 6}
    assert found.at("max").mean.x.to_dict() == {"a": 2, "b": 4}
    assert isinstance(found.at("one"), cells.Cells)
