"""Statistics compared with independently computed values."""

import math
import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from lockwright.base import numbers
from lockwright.compare.experiment import declare, no_runs, ranking
from lockwright.compare.plan import Plan
from lockwright.compare.verdict import decide
from lockwright.compare.warnings import collect
from lockwright.experiment import Run, Runs
from lockwright.stats import inference
from support.made_runs import made_run


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


def run(lock: str, number: int, value: float | None, **changes: Any) -> Run:
    return made_run(lock, number, value, **({"threads": 4} | changes))


def runs(**values: Sequence[float | None]) -> list[Run]:
    return [
        run(lock, number, value)
        for lock, series in values.items()
        for number, value in enumerate(series, 1)
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
    """A ratio of 2 in every round gives exactly 2, however the machine drifts."""
    ratio = inference.paired_ratio([2, 20, 200], [1, 10, 100], lower_is_better=False)
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_ratio_and_interval() -> None:
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
    ratio = inference.paired_ratio([3], [2], lower_is_better=False)
    assert ratio is not None
    assert ratio.value == pytest.approx(1.5)
    assert (ratio.low, ratio.high, ratio.deviation) == (None, None, None)
    assert inference.with_significance([ratio, None]) == [ratio, None]
    assert inference.paired_ratio([], [], lower_is_better=False) is None
    assert inference.paired_ratio([0, 1], [1, 1], lower_is_better=False) is None


def test_a_huge_interval_is_finite() -> None:
    ratio = inference.paired_ratio([1e-100, 1e100], [1, 1], lower_is_better=False)
    assert ratio is not None
    assert ratio.high is not None
    assert math.isfinite(ratio.high)


def test_one_lock_is_judged_by_its_own_interval() -> None:
    """Ratios 2, 2.1, 1.9 are shown to be above 1, ratios 1, 2, 4 are not."""
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


@pytest.mark.parametrize(("deviation", "used"), [(0.01, 0.1), (0.1, 0.1), (0.2, 0.2)])
def test_the_stricter_interval(deviation: float, used: float) -> None:
    """Eleven locks of deviation 0.1 in three rounds: 22 / 3.5 degrees, 5 % shared by eleven."""
    limit = inference.t_quantile(22 / 3.5, 1 - 0.05 / 11) * used / math.sqrt(3)

    def judged(mean: float) -> bool:
        # Its own interval excludes 1.
        low, high = math.exp(mean / 2), math.exp(2 * mean)
        ratio = inference.Ratio(math.exp(mean), low, high, deviation, 3)
        first = inference.with_significance([ratio, *[replace(ratio, deviation=0.1)] * 10])[0]
        assert first is not None
        return first.shown

    assert judged(limit * 1.001)
    assert not judged(limit * 0.999)


def test_twelve_equal_locks_rarely_have_a_winner() -> None:
    """By each lock's own interval alone, one comparison in five would have a winner."""
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


def test_modified_z_scores() -> None:
    """Median 3, absolute deviations 2 1 0 1 97, their median 1."""
    scores = inference.modified_z_scores([1, 2, 3, 4, 100])
    assert scores == pytest.approx([-2 / 1.4826, -1 / 1.4826, 0, 1 / 1.4826, 97 / 1.4826])
    assert inference.modified_z_scores([5, 5, 5, 9]) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "values"),
    [({}, (94, 100, 95)), ({"metric": None, "lower_is_better": True}, (10.6, 10, 10.5))],
    ids=["throughput", "time"],
)
def test_marks_and_order(changes: dict[str, object], values: Sequence[float]) -> None:
    """Best first; the limit of `=` is 95 % of the best rate, and the best time / 0.95."""
    pthread, a, b = ([value] * 3 for value in values)
    table = ranking(plan(**changes), runs(pthread=pthread, a=a, b=b), 4)  # type: ignore[arg-type]
    assert [(s.contender, s.mark) for s in table] == [("a", "*"), ("b", "="), ("pthread", "")]


def test_a_lock_that_did_not_finish_every_run_cannot_win() -> None:
    """Its median has no mark; a lock without a finished run comes last."""
    table = ranking(plan(), runs(pthread=[10] * 3, a=[99, 99, None], b=[None, None]), 4)
    assert [(s.contender, s.mark, s.median) for s in table] == [
        ("a", "", 99),
        ("pthread", "*", 10),
        ("b", "", None),
    ]
    assert table[2].gave_up
    assert not table[0].gave_up
    assert table[0].timeouts == 1


def test_ratio_uses_only_rounds_that_both_finished() -> None:
    """The second round, which pthread did not finish, is left out."""
    table = ranking(plan(), runs(pthread=[10, None, 40], a=[20, 90, 80]), 4)
    ratio = next(s.ratio for s in table if s.contender == "a")
    assert ratio is not None
    assert ratio.value == pytest.approx(2)
    assert ratio.rounds == 2


def test_warm_up_runs_do_not_count_but_their_timeouts_do() -> None:
    """A lock that hangs in the warm-up and again is given up."""
    records = [run("a", 0, 1000), run("a", 1, 10), run("a", 2, 10)]
    table = ranking(plan(), records, 4)
    assert next(s for s in table if s.contender == "a").median == 10
    experiment = declare(plan(threads=(2, 4)), no_runs)
    killed = Runs([run("a", 0, None), run("a", 1, None)])
    assert experiment.gave_up(killed, "4 threads", "a")
    assert not experiment.gave_up(killed, "2 threads", "a")


def test_verdict_names_the_winner_and_the_command() -> None:
    """The command has the number of threads in place of {threads}."""
    records = runs(pthread=[10, 10.1, 9.9], a=[20, 20.1, 20], b=[5, 5.1, 5])
    verdict = decide(plan(), [ranking(plan(), records, 4)])
    assert verdict.sentence.startswith("a is best at 4 threads: 2.00 times as good as pthread")
    assert verdict.command == "lockwright run --lock a -- prog 4"


def test_verdict_on_several_numbers_of_threads_is_two_sentences() -> None:
    """The second sentence has the other numbers of threads, and where the winner is worse."""
    records = runs(pthread=[10, 10.1, 9.9], a=[5, 5.1, 4.9], b=[10, 10.1, 9.9])
    for threads, values in ((1, [10, 10, 10]), (2, [20, 20, 20]), (8, [None, None, None])):
        records += [
            run(lock, number, value if lock == "a" else 10 + number / 100, threads=threads)
            for lock in ("pthread", "a", "b")
            for number, value in enumerate(values, 1)
        ]
    comparison = plan(threads=(1, 2, 4, 8), metric=None, lower_is_better=True)
    verdict = decide(comparison, [ranking(comparison, records, n) for n in comparison.threads])
    assert verdict.sentence == (
        "a is best at 4 threads: 2.00 times as fast as pthread (95 % CI 1.95 to 2.05). "
        "At 1 thread the program is not lock-sensitive: every lock is within 10 % of pthread; "
        "at 2 threads no lock is shown to be better than pthread, and a is shown to be worse (0.50 "
        "times as fast); at 8 threads no lock is shown to be better than pthread; "
        "at 8 threads a does not finish its runs; at 2 threads a is worse: 0.50 times as fast as "
        "pthread (95 % CI 0.50 to 0.50)."
    )
    assert verdict.command == "lockwright run --lock a -- prog 4"


def test_verdict_prefers_a_shown_gain_to_the_best_median() -> None:
    """A lock that varies has the best median; another has a smaller gain that is shown."""
    comparison = plan(("pthread", "a", "b", "c"))
    wild, steady = [40, 14, 5], [13, 13.1, 12.9]
    records = runs(pthread=[10, 10.1, 9.9], a=wild, b=steady, c=[10.1, 10, 10.1])
    verdict = decide(comparison, [ranking(comparison, records, 4)])
    assert verdict.sentence.startswith("b is shown to be better at 4 threads: 1.30 times as good")


def test_verdict_states_that_locks_do_not_matter() -> None:
    """Differences within the noise name no winner; only narrow intervals show insensitivity."""
    for noise, words in ((1, "no lock is shown to differ"), (0.1, "is not lock-sensitive")):
        records = runs(
            pthread=[10, 10 + noise, 10 - noise],
            a=[10 - noise, 10, 10 + noise],
            b=[10 + noise, 10 - noise, 10],
        )
        verdict = decide(plan(), [ranking(plan(), records, 4)])
        assert words in verdict.sentence
        assert verdict.command is None


def test_verdict_names_the_most_promising_lock() -> None:
    """It is the lock with the best ratio; the verdict has its interval and the command."""
    records = runs(pthread=[10, 14, 8], a=[13, 12, 14], b=[15, 17, 13])
    verdict = decide(plan(), [ranking(plan(), records, 4)])
    assert verdict.sentence.startswith("At 4 threads no lock is shown to differ from pthread. ")
    assert re.search(
        r"The most promising is b at 4 threads: 1\.44 times as good as pthread "
        r"\(95 % CI [\d.]+ to [\d.]+\), which may be chance\.$",
        verdict.sentence,
    ), verdict.sentence
    assert verdict.heading == "To settle it:"
    assert verdict.command is not None
    words = shlex.split(verdict.command)
    assert words[:3] == ["lockwright", "compare", "--runs"]
    assert 10 <= int(words[3]) <= 100
    assert words[4:8] == ["--locks", "pthread,b", "--threads", "4"]
    assert words[-3:] == ["--", "prog", "{threads}"]


def test_verdict_distinguishes_worse_locks_from_no_difference() -> None:
    """A program on which other locks are worse is lock-sensitive."""
    records = runs(pthread=[10, 10.1, 9.9], a=[2, 2.1, 2], b=[10, 10.1, 10])
    verdict = decide(plan(), [ranking(plan(), records, 4)])
    assert verdict.sentence == (
        "At 4 threads no lock is shown to be better than pthread, and a is shown to be worse (0.20 "
        "times as good)."
    )


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (3, "and c, b and a are shown to be worse (0.100 to 0.30 times as good)"),
        (5, "and 5 are shown to be worse (0.100 to 0.50 times as good, a the worst)"),
    ],
)
def test_verdict_names_a_few_worse_locks_and_counts_many(number: int, words: str) -> None:
    names = "abcde"[:number]
    values = {name: [i * v for v in (1, 1.01, 1)] for i, name in enumerate(names, 1)}
    comparison = plan(("pthread", *names))
    records = runs(pthread=[10, 10.1, 10], **values)
    verdict = decide(comparison, [ranking(comparison, records, 4)])
    assert verdict.sentence.endswith(f"no lock is shown to be better than pthread, {words}.")


def test_a_quiet_comparison_has_no_warnings() -> None:
    steady = [10, 10.1, 9.9]
    assert collect(plan(), runs(pthread=steady, a=steady, b=steady)) == []


def test_each_warning_has_its_cause() -> None:
    """Spread, first run, outlier, load and short runs each cause one warning."""
    steady: list[float | None] = [10, 10.1, 9.9, 10, 10.1]

    def warnings(records: list[Run]) -> list[str]:
        return collect(plan(runs=5), records)

    assert any("rel. sd" in w and "a at 4" in w for w in warnings(runs(a=[10, 12, 8, 11, 9])))
    assert any("first run" in w for w in warnings(runs(a=[90, *steady[1:]])))
    assert any("outlier" in w for w in warnings(runs(a=[*steady[:4], 90])))
    busy = [run("a", n, 10, others=0.5 if n == 2 else 0.0) for n in range(1, 6)]
    assert ["1 of 5 runs" in w and "50 %" in w for w in warnings(busy)] == [True]
    short = [run("a", n, 10, wall=0.05) for n in range(1, 6)]
    assert ["100 ms" in w for w in warnings(short)] == [True]


def test_a_noisy_machine_gets_one_warning_of_each_kind() -> None:
    """The warning counts the rows and names the worst."""
    wild = [10, 90, 10.1, 9.9, 10.1, 9.9, 10]
    records = [
        run(lock, number, value * (3 if lock == "b" and number == 2 else 1), threads=threads)
        for threads in (1, 2, 16)
        for lock in ("pthread", "a", "b")
        for number, value in enumerate(wild, 1)
    ]
    records = [replace(each, details={"others": 0.3}, wall=0.01) for each in records]
    found = collect(plan(threads=(1, 2, 16), runs=7), records)
    assert len(found) == 4
    assert "in 9 of 9 rows, rel. sd is above 5 %, highest with b at 1 thread" in found[0]
    assert "in 9 of 9 rows, there are outliers, 9 in all" in found[1]
    assert "during 63 of 63 runs, at most 30 %" in found[2]
    assert "in 9 of 9 rows, runs took less than 100 ms, the shortest 10 ms" in found[3]


@pytest.mark.parametrize(
    ("low", "high", "text"),
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
def test_an_interval_is_exact_from_a_hundredth_to_a_hundred(
    low: float, high: float, text: str
) -> None:
    assert numbers.interval(low, high) == text


def test_a_ratio_has_two_significant_digits() -> None:
    ratios = (1e12, 1234.5, 123.4, 12.34, 1.234, 0.123, 0.0123, 0.00123, 0.000123, 1e-9)
    texts = ">10,000 1,234 123 12.3 1.23 0.12 0.012 0.0012 0.00012 <0.0001"
    assert " ".join(map(numbers.ratio, ratios)) == texts


def test_a_small_number_has_no_exponent() -> None:
    values = (0.0, 1.1e-5, 0.00123, 0.5, 3.14, 1234.5)
    texts = ["0", "<0.001", "0.0012", "0.5", "3.1", "1,234"]
    assert [numbers.with_unit(value, "") for value in values] == texts
