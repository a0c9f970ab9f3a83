"""The rules by which `lockwright tune` drops locks and ends, on runs that are made up."""

import math
import random
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from lockwright.compare.plan import Plan, Slot
from lockwright.preload import locks
from lockwright.run.record import FAILED, FINISHED, TIMEOUT, Record
from lockwright.stats.inference import t_quantile
from lockwright.stats.sequential import interval
from lockwright.tune import budget, candidates, race
from lockwright.tune.outcome import decide, gained, outcome
from lockwright.tune.preparation import Preparation
from lockwright.tune.race import RaceRuns
from lockwright.tune.session import Session


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


def run(lock: str, number: int, seconds: float, outcome: str = FINISHED) -> Record:
    value = seconds if outcome == FINISHED else None
    return Record(0, number, lock, outcome, value, seconds, 0, 0, 0, 0, 0.0, 0, "why", "")


def runs(seconds: Mapping[str, Sequence[float]]) -> list[Record]:
    return [
        run(lock, number, value)
        for lock, values in seconds.items()
        for number, value in enumerate(values, 1)
    ]


NOISE = (0.99, 1.01, 1.0, 1.005, 0.995, 1.008)


def around(value: float, rounds: int = 6, shift: int = 0) -> list[float]:
    return [value * NOISE[(number + shift) % len(NOISE)] for number in range(rounds)]


def test_intervals_hold_at_all_looks() -> None:
    """Each interval, for an error of 5 %, is examined after each of 40 values; at most about that
    share is ever wrong. A t interval, made for one examination, is wrong several times as often.
    """
    draw = random.Random(1)
    wrong, usual, tries = 0, 0, 400
    for _ in range(tries):
        values = [draw.gauss(0, 1) for _ in range(40)]
        found = [interval(values[:n]) for n in range(2, 41)]
        wrong += any(not each.low <= 0 <= each.high for each in found)
        for number, each in enumerate(found, 2):
            half = t_quantile(number - 1) * statistics.stdev(values[:number]) / number**0.5
            if abs(each.mean) > half:
                usual += 1
                break
    assert wrong <= 0.07 * tries
    assert usual >= 0.15 * tries


def test_intervals_become_narrow() -> None:
    """None for fewer than three values; then ever narrower ones about the mean."""
    values = [0.1, 0.2, 0.3, 0.2, 0.1, 0.3] * 5
    assert math.isinf(interval(values[:2]).high)
    widths = [interval(values[:n]).high - interval(values[:n]).low for n in (3, 6, 12, 30)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.15
    assert interval(values).mean == pytest.approx(0.2)


def test_the_best_lock_stays() -> None:
    """However noisy the runs are: of 100 races that are looked at again and again, the best lock
    drops out of 5 at most, and a chance more."""
    draw = random.Random(2)
    locks = [f"lock-{number}" for number in range(6)]
    dropped = 0
    for _ in range(100):
        seconds = {lock: [draw.lognormvariate(0.02, 0.1) for _ in range(20)] for lock in locks}
        seconds |= {"best": [draw.lognormvariate(0, 0.2) for _ in range(20)]}
        seconds |= {"pthread": [draw.lognormvariate(0.02, 0.1) for _ in range(20)]}
        made = runs(seconds)
        dropped += any(
            "best" in RaceRuns(plan("best", *locks, budget=1e6), 0, made, looked).standing().dropped
            for looked in (2, 3, 4, 6, 9, 14, 20)
        )
    assert dropped <= 8


def test_what_others_show_of_the_noise_counts() -> None:
    """Among many locks a few rounds tell what those of two locks alone cannot."""
    few = {"pthread": around(1.0, 2), "ttas": around(1.5, 2, 1)}
    assert not RaceRuns(plan("ttas"), 0, runs(few)).standing().dropped
    more = {f"lock-{number}": around(1.0, 2, number) for number in range(8)}
    standing = RaceRuns(plan("ttas", *more), 0, runs(few | more)).standing()
    assert list(standing.dropped) == ["ttas"]


def test_a_lock_that_is_shown_to_be_worse_drops_out() -> None:
    """And only once it is shown: two rounds show nothing."""
    seconds = {"pthread": around(1.0), "ttas": around(2.0, shift=1), "futex": around(0.5, shift=2)}
    early = RaceRuns(plan("ttas", "futex"), 0, runs(seconds), 2).standing()
    assert set(early.remaining) == {"pthread", "ttas", "futex"}
    standing = RaceRuns(plan("ttas", "futex"), 0, runs(seconds)).standing()
    assert standing.remaining == ("futex",)
    assert {lock: gone.how for lock, gone in standing.dropped.items()} == {
        "pthread": race.WORSE,
        "ttas": race.WORSE,
    }


def test_high_figures_win_where_they_are_good() -> None:
    """As rates, the same runs give the opposite order."""
    seconds = {"pthread": around(1.0), "ttas": around(2.0, shift=1), "futex": around(0.5, shift=2)}
    assert RaceRuns(plan("ttas", "futex", metric="x"), 0, runs(seconds)).standing().remaining == (
        "ttas",
    )


@pytest.mark.parametrize(
    ("records", "out"),
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
def test_runs_that_do_not_end(records: list[Record], out: Mapping[str, str]) -> None:
    """One killed or failed run is enough, unless other runs of the lock have ended."""
    standing = RaceRuns(plan("ttas"), 0, [run("pthread", 1, 1.0), *records]).standing()
    assert {lock: gone.how for lock, gone in standing.dropped.items()} == out


def test_the_time_of_a_run_follows_from_the_best() -> None:
    """Three times its median, 1 s at least, --timeout at most; the baseline has all of that."""
    field = RaceRuns(plan("ttas", "futex"), 0, runs({"pthread": [9.0], "ttas": [2.0]}))
    assert field.limit("futex") == 6.0
    assert field.limit("pthread") == 60
    assert RaceRuns(plan("futex"), 0, runs({"pthread": [0.01]})).limit("futex") == 1
    assert RaceRuns(plan("futex"), 0, runs({"pthread": [50.0]})).limit("futex") == 60
    assert RaceRuns(plan("futex"), 0, []).limit("futex") == 60


KNOWN = Preparation(())


def verdict(seconds: Mapping[str, Sequence[float]], preparation: Preparation = KNOWN) -> str:
    others = [lock for lock in seconds if lock != "pthread"]
    wanted = plan(*others)
    field = RaceRuns(wanted, 0, runs(seconds))
    ended = field.ended(field.standing())
    shown = outcome(wanted, runs(seconds), 0, race.TIME_UP if ended is None else ended)
    return decide(wanted, [shown], preparation).sentence


def test_a_gain_is_told_with_its_interval() -> None:
    """And whoever is as good is named."""
    seconds = {
        "pthread": around(1.0, 12),
        "futex": around(0.5, 12, 2),
        "ttas": around(0.501, 12, 4),
        "hmcs": around(0.9, 12, 5),
    }
    text = verdict(seconds)
    assert text.startswith("futex is best: 2.00 times as fast as pthread (95 % CI 1.9")
    assert text.endswith("not better by more than 5 %: ttas.")


@pytest.mark.parametrize("others", [0, 9])
def test_a_gain_of_two_rounds_is_none_without_an_interval(others: int) -> None:
    """Two runs that lie together by chance say nothing; with what others show of the noise they
    have an interval, and it decides."""
    seconds = {"pthread": around(2.0, 2), "ttas": around(1.0, 2, 1)}
    seconds |= {f"lock{number}": around(1.9, 2, number) for number in range(others)}
    shown = outcome(plan(*list(seconds)[1:]), runs(seconds), 0, race.TIME_UP)
    assert shown.best is not None
    ratio = shown.best.ratio
    assert shown.best.lock == "ttas"
    assert ratio is not None
    assert (ratio.low is not None) == bool(others)
    assert gained(shown) == (ratio.low is not None and ratio.low > 1)


def test_no_gain_is_told_with_its_bound() -> None:
    """The bound is what the interval leaves open, in per cent."""
    text = verdict({"pthread": around(1.0, 12), "ttas": around(1.0, 12, 3)})
    assert text.startswith("no gain: ttas is not better than pthread by more than ")


def test_what_is_not_shown_is_not_claimed() -> None:
    """A race that the budget ended early names the most promising lock, and what would tell."""
    text = verdict({"pthread": [1.0, 1.1, 1.2], "ttas": [0.7, 1.0, 0.9]})
    assert "no lock is shown to be better than pthread" in text
    assert "the most promising is ttas" in text
    assert "a larger --budget can tell" in text


def test_an_insensitive_program_is_told_from_its_profile() -> None:
    """The message has what the few runs show, and no more, or says that there were none."""
    preparation = Preparation((), "mutexes cost it 0.1 % of its threads' time.", sensitive=False)
    text = verdict({"pthread": [1.0], "ttas": [0.98], "futex": [1.01]}, preparation)
    assert text.startswith("mutexes cost it 0.1 % of its threads' time. In one run each, ")
    assert "0.99 to 1.02 times as fast as pthread: too few to decide" in text
    assert "no run proves it" in verdict({"pthread": [1.0], "ttas": []}, preparation)


def test_times_are_read_as_people_write_them() -> None:
    """Seconds, minutes, hours."""
    assert [budget.parse_seconds(text) for text in ("90", "90s", "5m", "1.5 h", "2min")] == [
        90,
        90,
        300,
        5400,
        120,
    ]


def test_a_lock_that_can_gain_nothing_drops_out() -> None:
    """Although it is not shown to be worse; that bounds what it gains, and is said of it."""
    seconds = {"pthread": around(1.0, 8), "ttas": around(1.0, 8, 3)}
    few = {lock: values[:3] for lock, values in seconds.items()}
    assert not RaceRuns(plan("ttas"), 0, runs(few)).standing().dropped
    standing = RaceRuns(plan("ttas"), 0, runs(seconds)).standing()
    assert {lock: gone.how for lock, gone in standing.dropped.items()} == {"ttas": race.NO_GAIN}
    assert RaceRuns(plan("ttas"), 0, runs(seconds)).ended(standing) == race.ALL_NEAR
    shown = outcome(plan("ttas"), runs(seconds), 0, race.ALL_NEAR)
    assert shown.bound is not None
    assert 1 < shown.bound <= 1.05
    assert "shown to be no better than pthread by more than 5 %" in shown.row("ttas").fate
    better = {"pthread": around(1.0, 8), "futex": around(0.93, 8, 2)}
    assert RaceRuns(plan("futex"), 0, runs(better)).standing().remaining == ("futex",)


def test_a_lock_that_gains_hardly_more_than_the_margin_stays() -> None:
    """Its true gain is 6 %: it is wrongly said to gain no more than 5 % in 5 of 100 races at most,
    and a chance more; one that gains nothing is mostly found out."""
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
    """Makes up runs, and the time that passes meanwhile."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.now = 0.0
        self._draw = random.Random(5)
        self._seconds = seconds

    def measure(self, slot: Slot, library: Path, limit: float) -> Record:
        """A run that takes about the lock's time."""
        assert library == Path(slot.lock)
        taken = self._seconds[slot.lock] * self._draw.lognormvariate(0, 0.1)
        self.now += taken
        return run(slot.lock, slot.round, taken)


def held(machine: Machine, wanted: Plan, registry: object) -> Session:
    """A race on a machine that makes runs up, held to its end."""
    store = SimpleNamespace(records=lambda _: [], add=lambda *_: None)
    session = Session(SimpleNamespace(plan=wanted), store, registry, machine)  # type: ignore[arg-type]
    assert wanted.budget is not None
    session.carry_out(wanted.budget, lambda: machine.now)
    return session


def news(seconds: Mapping[str, float], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that a race of 100 s prints while it runs."""
    machine = Machine(seconds)
    wanted = plan(*(lock for lock in seconds if lock != "pthread"), budget=100)
    held(machine, wanted, SimpleNamespace(path_of=Path))
    lines = capsys.readouterr().err.splitlines()
    return [line.partition("so far: ")[2] for line in lines if "so far: " in line]


def test_the_standing_is_told_while_the_race_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Early, then ever more rarely; ever more is known of a program that gains nothing."""
    told = news({"pthread": 1.0, "ttas": 1.0, "futex": 1.0, "hmcs": 1.0}, capsys)
    assert 3 <= len(told) <= 4
    found = [re.fullmatch(r"of 3 locks none .* by more than (\d+) %", line) for line in told]
    bounds = [int(match[1]) for match in found if match is not None]
    assert len(bounds) >= 2
    assert bounds[-1] < bounds[0]
    leads = news({"pthread": 1.0, "ttas": 0.5, "futex": 0.5}, capsys)[-1]
    assert re.match(r"(ttas|futex) leads: (1\.9|2\.)", leads)


FAMILIES = {"futex": "one", "mutexee": "one", "go-mutex": "one", "hmcs": "two", "clof": "two"}


@pytest.mark.parametrize(
    ("seconds", "joined", "best"),
    [
        ({"futex": 0.8, "go-mutex": 0.6}, {"mutexee", "go-mutex"}, "go-mutex"),
        ({"hmcs": 0.8, "go-mutex": 0.6}, {"clof"}, "hmcs"),
        ({"go-mutex": 0.6, "futex": 1.4, "hmcs": 1.4}, set(), "pthread"),
    ],
)
def test_the_family_of_the_lock_that_leads_joins(
    seconds: dict[str, float], joined: set[str], best: str
) -> None:
    """And no other; none if no lock is better than the baseline."""
    machine = Machine(dict.fromkeys((*FAMILIES, "pthread"), 1.0) | {"clof": 1.0} | seconds)
    reserves = ("mutexee", "go-mutex", "clof")
    wanted = replace(plan("futex", "hmcs", *reserves), reserves=reserves)
    known = SimpleNamespace(
        path_of=Path,
        find=lambda name: SimpleNamespace(
            name=name, category=FAMILIES[name], parking=True, yields=False
        ),
    )
    made = held(machine, wanted, known).records
    assert {run.lock for run in made} & set(reserves) == joined
    standing = RaceRuns(wanted, 0, made).standing()
    assert standing.best == best
    rows = outcome(wanted, made, 0, race.ONE_LEFT).rows
    assert {row.lock for row in rows} == {"pthread", "futex", "hmcs", *joined}
    if joined:
        first = {run.lock: run.round for run in reversed(made)}
        assert min(first[lock] for lock in joined) > race.LEAST_ROUNDS


def test_a_lock_that_joins_late_is_ranked_by_the_rounds_that_it_shares() -> None:
    """What was good or bad for all locks in a round does not change their order."""
    slow = {"pthread": [2.0] * 4 + [1.0] * 4, "futex": [1.8] * 4 + [0.9] * 4}
    wanted = replace(plan("futex", "mutexee"), reserves=("mutexee",))
    late = [run("mutexee", number, 0.95) for number in range(5, 9)]
    assert RaceRuns(wanted, 0, [*runs(slow), *late]).standing().best == "futex"
    late = [run("mutexee", number, 0.85) for number in range(5, 9)]
    assert RaceRuns(wanted, 0, [*runs(slow), *late]).standing().best == "mutexee"


def test_half_of_the_locks_are_set_aside_when_a_third_of_the_time_is_gone() -> None:
    """The runs vary so much that nothing is shown; the better half continues."""
    draw = random.Random(3)
    locks = [f"lock-{number}" for number in range(8)]
    seconds = {
        lock: [(1 + 0.1 * place) * draw.lognormvariate(0, 0.4) for _ in range(12)]
        for place, lock in enumerate(["pthread", *locks])
    }
    few = RaceRuns(plan(*locks), 0, runs(seconds), 6).standing()
    assert not few.dropped
    # Nine locks of about a second and a half: 300 s have gone by a third after eight rounds.
    standing = RaceRuns(plan(*locks), 0, runs(seconds), 10).standing()
    behind = [lock for lock, gone in standing.dropped.items() if gone.how == race.BEHIND]
    assert len(behind) == 4
    assert "pthread" not in behind
    assert sum(int(lock[-1]) for lock in behind) > sum(
        int(lock[-1]) for lock in locks if lock not in behind
    )


def test_locks_whose_waiters_yield_are_a_family() -> None:
    """One lock of the family is tried beside one of the same category that sleeps."""
    known = locks.registry()
    if not {"futex", "wordlock", "parking-lot"} <= set(known.names):
        pytest.skip("built without these locks")
    tried = [each.lock for each in candidates.advised_candidates([("futex", "advised")], known)]
    assert tried[:2] == ["futex", "wordlock"]
    tried = [
        each.lock for each in candidates.advised_candidates([("parking-lot", "advised")], known)
    ]
    assert "futex" in tried
    assert "wordlock" not in tried
