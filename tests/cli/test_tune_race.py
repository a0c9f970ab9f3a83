"""The rules by which `lockwright tune` drops locks and ends, on made-up runs."""

import math
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from lockwright.commands.common.limits import Duration
from lockwright.compare.experiment import declare
from lockwright.compare.plan import Plan
from lockwright.compare.verdict import Verdict
from lockwright.experiment import (
    FAILED,
    FINISHED,
    TIMEOUT,
    Cell,
    Contender,
    Outcome,
    Run,
    Runs,
    carry_out,
)
from lockwright.preload import locks
from lockwright.stats.inference import t_quantile
from lockwright.stats.sequential import interval
from lockwright.tune import candidates, race
from lockwright.tune.outcome import decide, gained, outcome
from lockwright.tune.preparation import Preparation
from lockwright.tune.race import RaceRuns
from lockwright.tune.rule import Race
from support.made_runs import made_run


def plan(*locks: str, metric: str | None = None, budget: float = 300) -> Plan:
    return Plan(
        command=("x",),
        locks=("pthread", *locks),
        threads=(0,),
        runs=100,
        warmup=1,
        metric=metric,
        unit="s",
        lower_is_better=metric is None,
        timeout=60,
        prepare=None,
        budget=budget,
    )


def run(lock: str, number: int, seconds: float, ended: str = FINISHED) -> Run:
    value = seconds if ended == FINISHED else None
    return made_run(lock, number, value, ended=ended, wall=seconds, note="why")


def runs(seconds: Mapping[str, Sequence[float]]) -> list[Run]:
    return [
        run(lock, number, value)
        for lock, values in seconds.items()
        for number, value in enumerate(values, 1)
    ]


NOISE = (0.99, 1.01, 1.0, 1.005, 0.995, 1.008)


def around(value: float, rounds: int = 6, shift: int = 0) -> list[float]:
    return [value * NOISE[(number + shift) % len(NOISE)] for number in range(rounds)]


def test_intervals_hold_at_repeated_examination() -> None:
    """Few 95 % intervals are wrong at any of 39 examinations; t intervals are, more often."""
    draw = random.Random(1)
    wrong, wrong_t, tries = 0, 0, 400
    for _ in range(tries):
        values = [draw.gauss(0, 1) for _ in range(40)]
        found = [interval(values[:n]) for n in range(2, 41)]
        wrong += any(not each.low <= 0 <= each.high for each in found)
        for number, each in enumerate(found, 2):
            half = t_quantile(number - 1) * statistics.stdev(values[:number]) / number**0.5
            if abs(each.mean) > half:
                wrong_t += 1
                break
    assert wrong <= 0.07 * tries
    assert wrong_t >= 0.15 * tries


def test_intervals_become_narrow() -> None:
    """An interval of fewer than three values is infinite; more values make it narrower."""
    values = [0.1, 0.2, 0.3, 0.2, 0.1, 0.3] * 5
    assert math.isinf(interval(values[:2]).high)
    widths = [interval(values[:n]).high - interval(values[:n]).low for n in (3, 6, 12, 30)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.15
    assert interval(values).mean == pytest.approx(0.2)


def test_the_best_lock_stays() -> None:
    """The best lock is dropped from few of 100 noisy, repeatedly examined races."""
    draw = random.Random(2)
    locks = [f"lock-{number}" for number in range(6)]
    dropped = 0
    for _ in range(100):
        seconds = {lock: [draw.lognormvariate(0.02, 0.1) for _ in range(20)] for lock in locks}
        seconds |= {"best": [draw.lognormvariate(0, 0.2) for _ in range(20)]}
        seconds |= {"pthread": [draw.lognormvariate(0.02, 0.1) for _ in range(20)]}
        records = runs(seconds)
        dropped += any(
            "best" in RaceRuns(plan("best", *locks, budget=1e6), 0, records, n).standing().dropped
            for n in (2, 3, 4, 6, 9, 14, 20)
        )
    assert dropped <= 8


def test_the_noise_of_all_locks_is_pooled() -> None:
    """Two rounds of many locks decide what two rounds of two locks cannot."""
    few = {"pthread": around(1.0, 2), "ttas": around(1.5, 2, 1)}
    assert not RaceRuns(plan("ttas"), 0, runs(few)).standing().dropped
    others = {f"lock-{number}": around(1.0, 2, number) for number in range(8)}
    standing = RaceRuns(plan("ttas", *others), 0, runs(few | others)).standing()
    assert list(standing.dropped) == ["ttas"]


def test_a_lock_is_dropped_once_it_is_shown_to_be_worse() -> None:
    seconds = {"pthread": around(1.0), "ttas": around(2.0, shift=1), "futex": around(0.5, shift=2)}
    early = RaceRuns(plan("ttas", "futex"), 0, runs(seconds), 2).standing()
    assert set(early.remaining) == {"pthread", "ttas", "futex"}
    standing = RaceRuns(plan("ttas", "futex"), 0, runs(seconds)).standing()
    assert standing.remaining == ("futex",)
    assert {lock: reason.how for lock, reason in standing.dropped.items()} == {
        "pthread": race.WORSE,
        "ttas": race.WORSE,
    }


def test_rates_reverse_the_order() -> None:
    seconds = {"pthread": around(1.0), "ttas": around(2.0, shift=1), "futex": around(0.5, shift=2)}
    assert RaceRuns(plan("ttas", "futex", metric="x"), 0, runs(seconds)).standing().remaining == (
        "ttas",
    )


@pytest.mark.parametrize(
    ("records", "dropped"),
    [
        ([run("ttas", 1, 3.0, TIMEOUT)], {"ttas": race.SLOW}),
        ([run("ttas", 1, 1.0), run("ttas", 2, 3.0, TIMEOUT)], {}),
        (
            [run("ttas", 1, 1.0), *(run("ttas", n, 3.0, TIMEOUT) for n in (2, 3))],
            {"ttas": race.SLOW},
        ),
        ([run("ttas", 1, 1.0, FAILED)], {"ttas": race.FAILED}),
        ([run("ttas", 1, 1.0), run("ttas", 2, 1.0, FAILED)], {"ttas": race.FAILED}),
    ],
)
def test_failed_and_killed_runs(records: list[Run], dropped: Mapping[str, str]) -> None:
    """One failed run drops a lock; of killed runs one does, or two if another run finished."""
    standing = RaceRuns(plan("ttas"), 0, [run("pthread", 1, 1.0), *records]).standing()
    assert {lock: reason.how for lock, reason in standing.dropped.items()} == dropped


def test_the_time_limit_of_a_run() -> None:
    """The limit is three times the best median, from 1 s to --timeout, which the baseline has."""
    field = RaceRuns(plan("ttas", "futex"), 0, runs({"pthread": [9.0], "ttas": [2.0]}))
    assert field.limit("futex") == 6.0
    assert field.limit("pthread") == 60
    assert RaceRuns(plan("futex"), 0, runs({"pthread": [0.01]})).limit("futex") == 1
    assert RaceRuns(plan("futex"), 0, runs({"pthread": [50.0]})).limit("futex") == 60
    assert RaceRuns(plan("futex"), 0, []).limit("futex") == 60


EMPTY = Preparation(())


def verdict(seconds: Mapping[str, Sequence[float]], preparation: Preparation = EMPTY) -> str:
    return decided(seconds, preparation).sentence


def decided(seconds: Mapping[str, Sequence[float]], preparation: Preparation = EMPTY) -> Verdict:
    others = [lock for lock in seconds if lock != "pthread"]
    race_plan = plan(*others)
    field = RaceRuns(race_plan, 0, runs(seconds))
    ended = field.ended(field.standing())
    result = outcome(race_plan, runs(seconds), 0, race.TIME_UP if ended is None else ended)
    return decide(race_plan, [result], preparation)


def test_a_gain_is_stated_with_its_interval() -> None:
    """Locks that are as good are named."""
    seconds = {
        "pthread": around(1.0, 12),
        "futex": around(0.5, 12, 2),
        "ttas": around(0.501, 12, 4),
        "hmcs": around(0.9, 12, 5),
    }
    text = verdict(seconds)
    assert text.startswith("futex is best: 2.00 times as fast as pthread (95 % CI 1.9")
    assert text.endswith("; it is not better than ttas by more than 5 %.")


def test_a_gain_over_a_baseline_that_never_finished() -> None:
    """A sentence that begins with the lock's name keeps its letters."""
    text = verdict({"pthread": [], "ttas": around(1.0, 12)})
    assert text.startswith("ttas is best, and pthread finished no run. With more threads than ")


@pytest.mark.parametrize("others", [0, 9])
def test_a_gain_of_two_rounds_is_none_without_an_interval(others: int) -> None:
    """Two rounds may agree by chance; only the pooled noise of other locks gives an interval."""
    seconds = {"pthread": around(2.0, 2), "ttas": around(1.0, 2, 1)}
    seconds |= {f"lock{number}": around(1.9, 2, number) for number in range(others)}
    result = outcome(plan(*list(seconds)[1:]), runs(seconds), 0, race.TIME_UP)
    assert result.best is not None
    ratio = result.best.ratio
    assert result.best.contender == "ttas"
    assert ratio is not None
    assert (ratio.low is not None) == bool(others)
    assert gained(result) == (ratio.low is not None and ratio.low > 1)


def test_no_gain_is_stated_with_its_bound() -> None:
    text = verdict({"pthread": around(1.0, 12), "ttas": around(1.0, 12, 3)})
    assert text.startswith("No gain: ttas is not better than pthread by more than ")


def test_a_median_of_other_rounds_is_not_near_the_best() -> None:
    """After the first round, in which all were faster, futex did not run again."""
    rates = {"pthread": [700.0, *around(500)], "ttas": [705.0, *around(495)], "futex": [655.0]}
    rows = outcome(plan("ttas", "futex", metric="x"), runs(rates), 0, race.TIME_UP).rows
    assert {row.contender: row.mark for row in rows} == {"pthread": "*", "ttas": "=", "futex": ""}


def test_no_gain_names_the_locks_that_are_worse() -> None:
    text = verdict({name: around(at, 9) for name, at in (("pthread", 1.0), ("ttas", 3.0))})
    assert text.startswith("No gain: ttas is not better than pthread")
    assert "and ttas is shown to be worse (0.33 times as fast)." in text


def test_a_bound_below_an_interval_of_the_table_says_where_it_comes_from() -> None:
    """The bound is from the scatter of all runs, the interval of futex from its three."""
    seconds = {"pthread": around(1.0, 9), "ttas": around(1.0, 9, 3), "futex": [1.2, 0.8, 1.1]}
    result = outcome(plan("ttas", "futex"), runs(seconds), 0, race.TIME_UP)
    ratio = result.row("futex").ratio
    assert ratio is not None
    assert ratio.high is not None
    assert result.bound is not None
    assert ratio.high > result.bound
    assert "(from the scatter of all locks' runs; " in verdict(seconds)
    assert "scatter" not in verdict({name: seconds[name] for name in ("pthread", "ttas")})


def test_an_undecided_race_names_the_most_promising_lock() -> None:
    text = verdict({"pthread": [1.0, 1.1, 1.2], "ttas": [0.7, 1.0, 0.9]})
    assert "No lock is shown to be better than pthread" in text
    assert "the most promising is ttas" in text
    assert "a larger --budget can tell" in text
    assert "With more threads than processors ttas may lose most of its throughput" in text


def test_an_undecided_race_offers_to_settle_the_safest_of_the_tied_locks() -> None:
    times = [0.7, 1.0, 0.9]
    found = decided({"pthread": [1.0, 1.1, 1.2], "ttas": times, "futex": times})
    assert found.command is not None
    assert "--locks pthread,futex" in found.command
    assert "Not shown to be worse is futex, which is safer" in found.sentence
    assert "With more threads than processors" not in found.sentence


def test_an_insensitive_program_is_known_from_its_profile() -> None:
    """The message has the ratios of the few runs, or states that there were none."""
    preparation = Preparation((), "mutexes cost it 0.1 % of its threads' time.", sensitive=False)
    text = verdict({"pthread": [1.0], "ttas": [0.98], "futex": [1.01]}, preparation)
    assert text.startswith("Mutexes cost it 0.1 % of its threads' time. In one run each, ")
    assert "0.99 to 1.02 times as fast as pthread: too few to decide" in text
    assert "no run proves it" in verdict({"pthread": [1.0], "ttas": []}, preparation)


def test_a_budget_has_units() -> None:
    texts = ("90", "90s", "5m", "1.5 h", "2min")
    assert [Duration().convert(text, None, None) for text in texts] == [90, 90, 300, 5400, 120]


def test_a_lock_that_can_gain_nothing_is_dropped() -> None:
    """It is not shown to be worse, but its gain has a bound, which the table states."""
    seconds = {"pthread": around(1.0, 8), "ttas": around(1.0, 8, 3)}
    few = {lock: values[:3] for lock, values in seconds.items()}
    assert not RaceRuns(plan("ttas"), 0, runs(few)).standing().dropped
    standing = RaceRuns(plan("ttas"), 0, runs(seconds)).standing()
    assert {lock: reason.how for lock, reason in standing.dropped.items()} == {"ttas": race.NO_GAIN}
    assert RaceRuns(plan("ttas"), 0, runs(seconds)).ended(standing) == race.ALL_NEAR
    result = outcome(plan("ttas"), runs(seconds), 0, race.ALL_NEAR)
    assert result.bound is not None
    assert 1 < result.bound <= 1.05
    assert "shown to be no better than pthread by more than 5 %" in result.row("ttas").fate
    better = {"pthread": around(1.0, 8), "futex": around(0.93, 8, 2)}
    assert RaceRuns(plan("futex"), 0, runs(better)).standing().remaining == ("futex",)


def test_a_lock_that_gains_hardly_more_than_the_margin_stays() -> None:
    """A gain of 6 % is rarely mistaken for 5 % at most; a lock without gain is mostly dropped."""
    draw = random.Random(4)
    wrong = right = 0
    for _ in range(60):
        seconds = {
            lock: [draw.lognormvariate(-math.log(gain), 0.03) for _ in range(20)]
            for lock, gain in {"pthread": 1.0, "ttas": 0.99, "futex": 1.06}.items()
        }
        out = [
            RaceRuns(plan("ttas", "futex"), 0, runs(seconds), n).standing().dropped
            for n in (5, 9, 14, 20)
        ]
        wrong += any("futex" in each for each in out)
        right += "ttas" in out[-1]
    assert wrong <= 5
    assert right >= 40


class Machine:
    """A machine whose runs and clock are made up."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.now = 0.0
        self._draw = random.Random(5)
        self._seconds = seconds

    def measure(self, _: Cell, contender: Contender, number: int) -> Outcome:
        taken = self._seconds[contender.name] * self._draw.lognormvariate(0, 0.1)
        self.now += taken
        return run(contender.name, number, taken)


def run_race(machine: Machine, race_plan: Plan) -> Runs:
    """Run a race to its end on a made-up machine."""
    assert race_plan.budget is not None
    rule = Race(race_plan, race_plan.budget, lambda: machine.now)
    return carry_out(declare(race_plan, machine.measure, rule=rule))


def progress_lines(seconds: Mapping[str, float], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that a race of 100 s prints while it runs."""
    machine = Machine(seconds)
    race_plan = plan(*(lock for lock in seconds if lock != "pthread"), budget=100)
    run_race(machine, race_plan)
    lines = capsys.readouterr().err.splitlines()
    return [line.partition("so far: ")[2] for line in lines if "so far: " in line]


def test_progress_states_the_standing(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines become rarer; without a gain, its bound decreases."""
    lines = progress_lines({"pthread": 1.0, "ttas": 1.0, "futex": 1.0, "hmcs": 1.0}, capsys)
    assert 3 <= len(lines) <= 4
    found = [re.fullmatch(r"of 3 locks none .* by more than (\d+) %", line) for line in lines]
    bounds = [int(match[1]) for match in found if match is not None]
    assert len(bounds) >= 2
    assert bounds[-1] < bounds[0]
    leads = progress_lines({"pthread": 1.0, "ttas": 0.5, "futex": 0.5}, capsys)[-1]
    assert re.match(r"(ttas|futex) leads: (1\.9|2\.)", leads)


@pytest.mark.parametrize(
    ("seconds", "joined"),
    [
        ({"futex": 0.8, "pthread/mutex": 0.9, "futex/mutex": 0.6}, {"futex/mutex"}),
        ({"pthread/phase-fair": 0.7, "hmcs": 0.9}, {"hmcs/phase-fair"}),
        ({"futex": 0.8, "pthread/mutex": 1.4, "pthread/phase-fair": 1.4}, set()),
        ({"pthread/phase-fair": 0.5, "futex": 1.5, "hmcs": 1.4}, {"futex/phase-fair"}),
    ],
)
def test_the_best_lock_joins_with_the_best_reader_writer_lock(
    seconds: dict[str, float], joined: set[str]
) -> None:
    """No other pair does; none if all reader-writer locks have dropped out, and the first one of
    the best reader-writer lock if all mutexes have."""
    first = ("futex", "hmcs", "pthread/mutex", "pthread/phase-fair")
    reserves = candidates.pairs(first)
    assert len(reserves) == 4
    machine = Machine(dict.fromkeys(("pthread", *first, *reserves), 1.0) | seconds)
    race_plan = replace(plan(*first, *reserves), reserves=reserves)
    made = run_race(machine, race_plan)
    assert {run.contender for run in made} & set(reserves) == joined


@pytest.mark.parametrize(
    ("seconds", "joined"),
    [
        ({"futex": 0.8, "pthread+batch": 0.9, "futex+batch": 0.6}, {"futex+batch"}),
        ({"pthread+huge": 0.7, "pthread+batch+huge": 0.5}, {"pthread+batch+huge"}),
        ({"futex": 0.8, "pthread+batch": 1.4, "pthread+huge": 1.4}, set()),
    ],
)
def test_the_best_lock_joins_with_the_best_setting(
    seconds: dict[str, float], joined: set[str]
) -> None:
    """Without a better lock, two settings are tried together."""
    first = ("futex", "pthread+batch", "pthread+huge")
    reserves = candidates.combinations(("pthread", *first))
    assert reserves == ("futex+batch", "futex+huge", "pthread+batch+huge")
    slow = {"futex": 1.5} | dict.fromkeys(("pthread", *first[1:], *reserves), 1.0)
    race_plan = replace(plan(*first, *reserves), reserves=reserves)
    made = run_race(Machine(slow | seconds), race_plan)
    assert {run.contender for run in made} & set(reserves) == joined


def test_a_lock_that_joins_late_is_ranked_by_the_rounds_that_it_shares() -> None:
    """Rounds that were slow for all locks do not change the order."""
    slow = {"pthread": [2.0] * 4 + [1.0] * 4, "futex": [1.8] * 4 + [0.9] * 4}
    race_plan = replace(plan("futex", "mutexee"), reserves=("mutexee",))
    late = [run("mutexee", number, 0.95) for number in range(5, 9)]
    assert RaceRuns(race_plan, 0, [*runs(slow), *late]).standing().best == "futex"
    late = [run("mutexee", number, 0.85) for number in range(5, 9)]
    assert RaceRuns(race_plan, 0, [*runs(slow), *late]).standing().best == "mutexee"


def test_half_of_the_locks_are_dropped_after_a_third_of_the_budget() -> None:
    """The runs vary so much that no lock is shown to be worse; the better half continues."""
    draw = random.Random(3)
    locks = [f"lock-{number}" for number in range(8)]
    seconds = {
        lock: [(1 + 0.1 * rank) * draw.lognormvariate(0, 0.4) for _ in range(12)]
        for rank, lock in enumerate(["pthread", *locks])
    }
    few = RaceRuns(plan(*locks), 0, runs(seconds), 6).standing()
    assert not few.dropped
    # Nine locks of about 1.5 s: eight rounds take a third of 300 s.
    standing = RaceRuns(plan(*locks), 0, runs(seconds), 10).standing()
    behind = [lock for lock, reason in standing.dropped.items() if reason.how == race.BEHIND]
    assert len(behind) == 4
    assert "pthread" not in behind
    assert sum(int(lock[-1]) for lock in behind) > sum(
        int(lock[-1]) for lock in locks if lock not in behind
    )


def test_locks_whose_waiters_yield_are_a_family() -> None:
    """One lock of the family is a candidate beside one of the same category that parks."""
    registry = locks.registry()
    if not {"futex", "wordlock", "parking-lot"} <= set(registry.names):
        pytest.skip("built without these locks")

    def candidates_of(lock: str) -> list[str]:
        return [c.lock for c in candidates.advised_candidates([(lock, "advised")], registry)]

    assert candidates_of("futex")[:2] == ["futex", "wordlock"]
    assert "futex" in candidates_of("parking-lot")
    assert "wordlock" not in candidates_of("parking-lot")
