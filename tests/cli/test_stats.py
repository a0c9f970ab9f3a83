"""Statistics against values worked out by hand."""

import math
import statistics
from collections.abc import Sequence

import pytest
from lockwright.compare import stats
from lockwright.compare.plan import Plan
from lockwright.compare.record import Record
from lockwright.compare.verdict import decide
from lockwright.compare.warnings import collect


def plan(locks: tuple[str, ...] = ("pthread", "a", "b"), **changes: object) -> Plan:
    fields: dict[str, object] = {
        "command": ("prog", "{threads}"),
        "locks": locks,
        "threads": (4,),
        "runs": 3,
        "warmup": 0,
        "metric": "x",
        "unit": "ops/s",
        "lower_is_better": False,
        "timeout": 60.0,
        "prepare": None,
    }
    return Plan(**(fields | changes))  # type: ignore[arg-type]


def run(lock: str, number: int, value: float | None, **changes: object) -> Record:
    fields: dict[str, object] = {
        "threads": 4,
        "round": number,
        "lock": lock,
        "outcome": "finished" if value is not None else "timeout",
        "value": value,
        "wall": 1.0,
        "user": 1.0,
        "system": 0.0,
        "voluntary": 0,
        "involuntary": 0,
        "others": 0.0,
        "status": 0,
        "note": "",
        "started": "",
    }
    return Record(**(fields | changes))  # type: ignore[arg-type]


def runs(**values: Sequence[float | None]) -> list[Record]:
    return [
        run(lock, number, value)
        for lock, mine in values.items()
        for number, value in enumerate(mine, 1)
    ]


def test_spread_is_the_relative_sample_standard_deviation() -> None:
    """1, 2, 3: standard deviation 1 with n - 1, mean 2."""
    assert stats.spread([1, 2, 3]) == pytest.approx(0.5)
    assert stats.spread([7]) is None


@pytest.mark.parametrize(("degrees", "table"), [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042)])
def test_t_quantiles_are_those_of_the_tables(degrees: int, table: float) -> None:
    """Two-sided 95 %, as printed in any table of Student's t."""
    assert stats.t_quantile(degrees) == pytest.approx(table, abs=5e-4)


def test_ratio_is_paired_by_round() -> None:
    """Twice as good in every round is exactly 2 however the machine drifts."""
    ratio = stats.paired_ratio([2, 20, 200], [1, 10, 100], lower_is_better=False)
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_ratio_and_interval_by_hand() -> None:
    """Ratios 1, 2, 4: mean of logs ln 2, deviation ln 2, half-width 4.3027 ln 2 / sqrt 3."""
    ratio = stats.paired_ratio([1, 2, 4], [1, 1, 1], lower_is_better=False)
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert ratio.low == pytest.approx(2 * math.exp(-half), rel=1e-5)
    assert ratio.high == pytest.approx(2 * math.exp(half), rel=1e-5)
    assert not ratio.differs


def test_ratio_above_one_is_better_for_times_too() -> None:
    """Half the time is twice as good."""
    ratio = stats.paired_ratio([1, 1], [2, 2], lower_is_better=True)
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    assert ratio.differs


def test_one_round_has_no_interval_and_zero_has_no_ratio() -> None:
    """Nothing is made up where nothing is known."""
    one = stats.paired_ratio([3], [2], lower_is_better=False)
    assert one is not None
    assert one.value == pytest.approx(1.5)
    assert one.low is None
    assert one.high is None
    assert not one.differs
    assert stats.paired_ratio([], [], lower_is_better=False) is None
    assert stats.paired_ratio([0, 1], [1, 1], lower_is_better=False) is None


def test_an_absurd_interval_is_still_finite() -> None:
    """Two rounds a hundred powers of ten apart."""
    ratio = stats.paired_ratio([1e-100, 1e100], [1, 1], lower_is_better=False)
    assert ratio is not None
    assert ratio.high is not None
    assert math.isfinite(ratio.high)


def test_modified_z_scores_by_hand() -> None:
    """Median 3, absolute deviations 2 1 0 1 97, their median 1."""
    scores = stats.deviations([1, 2, 3, 4, 100])
    assert scores == pytest.approx([-2 / 1.4826, -1 / 1.4826, 0, 1 / 1.4826, 97 / 1.4826])
    assert stats.deviations([5, 5, 5, 9]) == [0, 0, 0, 0]


def test_marks_and_order_for_throughput() -> None:
    """Best first; 95 is within 5 % of 100, 94 is not."""
    table = stats.summarise(
        plan(("pthread", "a", "b")), runs(pthread=[94] * 3, a=[100] * 3, b=[95] * 3), 4
    )
    assert [(s.lock, s.mark) for s in table] == [("a", "*"), ("b", "="), ("pthread", "")]


def test_marks_and_order_for_times() -> None:
    """Best first is the lowest; 10 / 0.95 is the limit."""
    table = stats.summarise(
        plan(metric=None, lower_is_better=True),
        runs(pthread=[10.6] * 3, a=[10] * 3, b=[10.5] * 3),
        4,
    )
    assert [(s.lock, s.mark) for s in table] == [("a", "*"), ("b", "="), ("pthread", "")]


def test_a_lock_that_did_not_finish_every_run_cannot_win() -> None:
    """Its median is shown, without a mark; one without any run comes last."""
    table = stats.summarise(plan(), runs(pthread=[10] * 3, a=[99, 99, None], b=[None, None]), 4)
    assert [(s.lock, s.mark, s.median) for s in table] == [
        ("a", "", 99),
        ("pthread", "*", 10),
        ("b", "", None),
    ]
    assert table[2].gave_up
    assert not table[0].gave_up
    assert table[0].timeouts == 1


def test_ratio_uses_only_rounds_that_both_finished() -> None:
    """The second round of pthread and the third of the lock are left out."""
    table = stats.summarise(plan(), runs(pthread=[10, None, 40], a=[20, 90, 80]), 4)
    ratio = next(s.ratio for s in table if s.lock == "a")
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    assert ratio.rounds == 2


def test_warm_up_runs_do_not_count_but_their_timeouts_do() -> None:
    """A lock that hangs in the warm-up and again is given up."""
    records = [run("a", 0, 1000), run("a", 1, 10), run("a", 2, 10)]
    table = stats.summarise(plan(), records, 4)
    assert next(s for s in table if s.lock == "a").median == 10
    assert stats.has_given_up([run("a", 0, None), run("a", 1, None)], 4, "a")
    assert not stats.has_given_up([run("a", 0, None), run("a", 1, None, threads=2)], 4, "a")


def test_verdict_names_the_winner_and_the_command() -> None:
    """The command has the number of threads in place."""
    records = runs(pthread=[10, 10.1, 9.9], a=[20, 20.1, 20], b=[5, 5.1, 5])
    verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
    assert verdict.sentence.startswith("At 4 threads: a is best, 2.00 times as good as pthread")
    assert verdict.command == "lockwright run --lock a -- prog 4"


def test_verdict_says_when_locks_do_not_matter() -> None:
    """Differences within the noise name no winner and no command."""
    records = runs(pthread=[10, 11, 9], a=[9, 10, 11], b=[11, 9, 10])
    verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
    assert "not lock-sensitive" in verdict.sentence
    assert verdict.command is None


def test_verdict_tells_worse_locks_from_no_difference() -> None:
    """A program on which other locks are worse is lock-sensitive."""
    records = runs(pthread=[10, 10.1, 9.9], a=[2, 2.1, 2], b=[10, 10.1, 10])
    verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
    assert "no lock is better than pthread" in verdict.sentence
    assert "not lock-sensitive" not in verdict.sentence


def test_a_quiet_comparison_has_no_warnings() -> None:
    """Steady runs of a second on an idle machine."""
    steady = [10, 10.1, 9.9]
    assert collect(plan(), runs(pthread=steady, a=steady, b=steady)) == []


def test_each_warning_has_its_cause() -> None:
    """Spread, first run, outlier, load, short runs: each alone brings its sentence."""
    steady: list[float | None] = [10, 10.1, 9.9, 10, 10.1]

    def warned(records: list[Record]) -> list[str]:
        return collect(plan(runs=5), records)

    assert any("spread" in w and "a (" in w for w in warned(runs(a=[10, 12, 8, 11, 9])))
    assert any("first run" in w for w in warned(runs(a=[90, *steady[1:]])))
    assert any("outlier" in w for w in warned(runs(a=[*steady[:4], 90])))
    busy = [run("a", n, 10, others=0.5 if n == 2 else 0.0) for n in range(1, 6)]
    assert ["1 of 5 runs" in w and "50%" in w for w in warned(busy)] == [True]
    short = [run("a", n, 10, wall=0.05) for n in range(1, 6)]
    assert ["100 ms" in w for w in warned(short)] == [True]


def test_every_lock_takes_every_place_in_the_order_of_rounds() -> None:
    """No lock always comes first, each runs once a round, and the order is the same each time."""
    wanted = plan(("pthread", "a", "b", "c"), runs=40, warmup=1)
    slots = list(wanted.slots())
    assert slots == list(wanted.slots())
    rounds = [slots[i : i + 4] for i in range(0, len(slots), 4)]
    assert [{slot.lock for slot in each} for each in rounds] == [{"pthread", "a", "b", "c"}] * 41
    firsts = statistics.multimode([each[0].lock for each in rounds])
    assert {each[0].lock for each in rounds} == {"pthread", "a", "b", "c"}
    assert sum(each[0].lock in firsts for each in rounds) < 41
