"""Statistics against values worked out by hand."""

import math
import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from lockwright.base import numbers
from lockwright.compare import stats
from lockwright.compare.plan import Plan
from lockwright.compare.verdict import decide
from lockwright.compare.warnings import collect
from lockwright.run.record import Record
from lockwright.stats import inference


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
    assert inference.spread([1, 2, 3]) == pytest.approx(0.5)
    assert inference.spread([7]) is None


@pytest.mark.parametrize(("degrees", "table"), [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042)])
def test_t_quantiles_are_those_of_the_tables(degrees: int, table: float) -> None:
    """Two-sided 95 %, as printed in any table of Student's t."""
    assert inference.t_quantile(degrees) == pytest.approx(table, abs=5e-4)


def test_ratio_is_paired_by_round() -> None:
    """Twice as good in every round is exactly 2 however the machine drifts."""
    ratio = inference.paired_ratio([2, 20, 200], [1, 10, 100], lower_is_better=False)
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_ratio_and_interval_by_hand() -> None:
    """Ratios 1, 2, 4: mean of logs ln 2, deviation ln 2, half-width 4.3027 ln 2 / sqrt 3."""
    ratio = inference.paired_ratio([1, 2, 4], [1, 1, 1], lower_is_better=False)
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    half = 4.302653 * math.log(2) / math.sqrt(3)
    assert ratio.low == pytest.approx(2 * math.exp(-half), rel=1e-5)
    assert ratio.high == pytest.approx(2 * math.exp(half), rel=1e-5)
    assert ratio.deviation == pytest.approx(math.log(2))


def test_ratio_above_one_is_better_for_times_too() -> None:
    """Half the time is twice as good."""
    ratio = inference.paired_ratio([1, 1], [2, 2], lower_is_better=True)
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    assert ratio.low == ratio.high == ratio.value


def test_one_round_has_no_interval_and_zero_has_no_ratio() -> None:
    """Nothing is made up where nothing is known."""
    one = inference.paired_ratio([3], [2], lower_is_better=False)
    assert one is not None
    assert one.value == pytest.approx(1.5)
    assert one.low is None
    assert one.high is None
    assert one.deviation is None
    assert inference.with_significance([one, None]) == [one, None]
    assert inference.paired_ratio([], [], lower_is_better=False) is None
    assert inference.paired_ratio([0, 1], [1, 1], lower_is_better=False) is None


def test_an_absurd_interval_is_still_finite() -> None:
    """Two rounds a hundred powers of ten apart."""
    ratio = inference.paired_ratio([1e-100, 1e100], [1, 1], lower_is_better=False)
    assert ratio is not None
    assert ratio.high is not None
    assert math.isfinite(ratio.high)


def test_one_lock_is_judged_by_its_own_interval() -> None:
    """Ratios 2, 2.1, 1.9 are above 1 for sure, 1, 2, 4 are not; the reverse is worse."""
    for values, better in (([2, 2.1, 1.9], True), ([1, 2, 4], False)):
        (ratio,) = inference.with_significance(
            [inference.paired_ratio(values, [1] * 3, lower_is_better=False)]
        )
        assert ratio is not None
        assert ratio.better == better
        assert not ratio.worse
    (ratio,) = inference.with_significance(
        [inference.paired_ratio([2, 2.1, 1.9], [1] * 3, lower_is_better=True)]
    )
    assert ratio is not None
    assert ratio.worse


@pytest.mark.parametrize(("own", "used"), [(0.01, 0.1), (0.1, 0.1), (0.2, 0.2)])
def test_the_stricter_interval_by_hand(own: float, used: float) -> None:
    """Eleven locks of deviation 0.1 in three rounds: 22 / 3.5 degrees, 5 % shared by eleven."""
    limit = inference.t_quantile(22 / 3.5, 1 - 0.05 / 11) * used / math.sqrt(3)

    def judged(mean: float) -> bool:
        # Its own interval leaves out 1.
        ratio = inference.Ratio(math.exp(mean), math.exp(mean / 2), math.exp(2 * mean), own, 3)
        first = inference.with_significance([ratio, *[replace(ratio, deviation=0.1)] * 10])[0]
        assert first is not None
        return first.shown

    assert judged(limit * 1.001)
    assert not judged(limit * 0.999)


def test_twelve_locks_that_are_alike_have_a_winner_in_few_comparisons() -> None:
    """By each lock's own interval alone there would be a winner in one comparison of five."""
    rng = random.Random(1)
    plain = claimed = 0
    for _ in range(200):
        values = [[math.exp(rng.gauss(0, 0.1)) for _ in range(5)] for _ in range(12)]
        ratios = [inference.paired_ratio(each, values[0], False) for each in values[1:]]
        plain += any(ratio is not None and (ratio.low or 0) > 1 for ratio in ratios)
        claimed += any(
            ratio is not None and ratio.better for ratio in inference.with_significance(ratios)
        )
    assert plain > 20
    assert claimed <= 10


def test_modified_z_scores_by_hand() -> None:
    """Median 3, absolute deviations 2 1 0 1 97, their median 1."""
    scores = inference.modified_z_scores([1, 2, 3, 4, 100])
    assert scores == pytest.approx([-2 / 1.4826, -1 / 1.4826, 0, 1 / 1.4826, 97 / 1.4826])
    assert inference.modified_z_scores([5, 5, 5, 9]) == [0, 0, 0, 0]


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
    assert verdict.sentence.startswith("a is best at 4 threads: 2.00 times as good as pthread")
    assert verdict.command == "lockwright run --lock a -- prog 4"


def test_verdict_on_several_numbers_of_threads_is_two_sentences() -> None:
    """The first sentence has the gain, the second the rest, with what speaks against the winner."""
    records = runs(pthread=[10, 10.1, 9.9], a=[5, 5.1, 4.9], b=[10, 10.1, 9.9])
    for threads, values in ((1, [10, 10, 10]), (2, [20, 20, 20]), (8, [None, None, None])):
        records += [
            run(lock, number, value if lock == "a" else 10 + number / 100, threads=threads)
            for lock in ("pthread", "a", "b")
            for number, value in enumerate(values, 1)
        ]
    wanted = plan(threads=(1, 2, 4, 8), metric=None, lower_is_better=True)
    verdict = decide(wanted, [stats.summarise(wanted, records, n) for n in wanted.threads])
    assert verdict.sentence == (
        "a is best at 4 threads: 2.00 times as fast as pthread (95 % CI 1.95 to 2.05). "
        "At 1 thread the program is not lock-sensitive: every lock is within 10 % of pthread; "
        "at 2 and 8 threads no lock is shown to be better than pthread; "
        "at 8 threads a does not finish its runs; at 2 threads a is worse (0.50)."
    )
    assert verdict.command == "lockwright run --lock a -- prog 4"


def test_verdict_looks_past_the_best_median_for_what_is_certain() -> None:
    """A lock that varies has the best median; another one is less good, and surely better."""
    wanted = plan(("pthread", "a", "b", "c"))
    wild, steady = [40, 14, 5], [13, 13.1, 12.9]
    records = runs(pthread=[10, 10.1, 9.9], a=wild, b=steady, c=[10.1, 10, 10.1])
    verdict = decide(wanted, [stats.summarise(wanted, records, 4)])
    assert verdict.sentence.startswith("b is shown to be better at 4 threads: 1.30 times as good")


def test_verdict_says_when_locks_do_not_matter() -> None:
    """Differences within the noise name no winner; only close intervals show that none is."""
    for noise, words in ((1, "no lock is shown to differ"), (0.1, "is not lock-sensitive")):
        records = runs(
            pthread=[10, 10 + noise, 10 - noise],
            a=[10 - noise, 10, 10 + noise],
            b=[10 + noise, 10 - noise, 10],
        )
        verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
        assert words in verdict.sentence
        assert verdict.command is None


def test_verdict_names_what_is_promising_but_not_certain() -> None:
    """It has the interval and the command to try it; of several, the one with the best ratio."""
    records = runs(pthread=[10, 14, 8], a=[13, 12, 14], b=[15, 17, 13])
    verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
    assert verdict.sentence.startswith("At 4 threads no lock is shown to differ from pthread. ")
    assert re.search(
        r"The most promising is b at 4 threads: 1\.44 times as good as pthread "
        r"\(95 % CI [\d.]+ to [\d.]+\), which may be chance; use more --runs\.$",
        verdict.sentence,
    ), verdict.sentence
    assert verdict.command == "lockwright run --lock b -- prog 4"


def test_verdict_tells_worse_locks_from_no_difference() -> None:
    """A program on which other locks are worse is lock-sensitive."""
    records = runs(pthread=[10, 10.1, 9.9], a=[2, 2.1, 2], b=[10, 10.1, 10])
    verdict = decide(plan(), [stats.summarise(plan(), records, 4)])
    assert "no lock is shown to be better than pthread" in verdict.sentence
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

    assert any("rel. sd" in w and "a at 4" in w for w in warned(runs(a=[10, 12, 8, 11, 9])))
    assert any("first run" in w for w in warned(runs(a=[90, *steady[1:]])))
    assert any("outlier" in w for w in warned(runs(a=[*steady[:4], 90])))
    busy = [run("a", n, 10, others=0.5 if n == 2 else 0.0) for n in range(1, 6)]
    assert ["1 of 5 runs" in w and "50 %" in w for w in warned(busy)] == [True]
    short = [run("a", n, 10, wall=0.05) for n in range(1, 6)]
    assert ["100 ms" in w for w in warned(short)] == [True]


def test_a_noisy_machine_gets_one_warning_of_each_kind() -> None:
    """However many locks and numbers of threads there are; the worst is named."""
    wild = [10, 90, 10.1, 9.9, 10.1, 9.9, 10]
    records = [
        run(lock, number, value * (3 if lock == "b" and number == 2 else 1), threads=threads)
        for threads in (1, 2, 16)
        for lock in ("pthread", "a", "b")
        for number, value in enumerate(wild, 1)
    ]
    records = [replace(each, others=0.3, wall=0.01) for each in records]
    found = collect(plan(threads=(1, 2, 16), runs=7), records)
    assert len(found) == 4
    assert "in 9 of 9 rows, rel. sd is above 5 %, highest with b at 1 thread" in found[0]
    assert "in 9 of 9 rows, there are outliers, 9 in all" in found[1]
    assert "during 63 of 63 runs, at most 30 %" in found[2]
    assert "in 9 of 9 rows, runs took less than 100 ms, the shortest 10 ms" in found[3]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (2.39e-16, 9.28e12, "<0.01 to >100"),
        (0.003, 0.5, "<0.01 to 0.50"),
        (1.19, 2.567, "1.19 to 2.57"),
        (0.0235, 12.34, "0.024 to 12.3"),
        (0.001, 0.002, "<0.01"),
        (150.0, 900.0, ">100"),
        (1.0, 1.0, "1.00 to 1.00"),
    ],
)
def test_an_interval_is_shown_as_far_as_it_says_something(
    low: float, high: float, shown: str
) -> None:
    """Beyond a hundredth and a hundred it says only that nothing is known."""
    assert numbers.interval(low, high) == shown


def test_a_ratio_keeps_two_digits() -> None:
    """The ratios range from a collapse to a thousandfold gain."""
    ratios = (1e12, 1234.5, 123.4, 12.34, 1.234, 0.123, 0.0123, 0.00123, 0.000123, 1e-9)
    shown = ">10,000 1,234 123 12.3 1.23 0.12 0.012 0.0012 0.00012 <0.0001"
    assert " ".join(map(numbers.ratio, ratios)) == shown


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
