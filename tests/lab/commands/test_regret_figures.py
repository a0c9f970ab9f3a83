"""The figures of `lockwright bench regret`, on made-up runs."""

import math
import random
import statistics
from collections.abc import Sequence

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FAILED, Contender, Outcome, Run, Runs
from lockwright.experiment.model import Slot
from lockwright.preload.locks import Tunable
from lockwright_lab.bench.regret import choice, contenders, grid, native, tables, verdict
from lockwright_lab.bench.regret.contenders import Contest
from lockwright_lab.bench.regret.experiment import _rule
from lockwright_lab.bench.regret.grid import Load
from lockwright_lab.bench.regret.step import settling_time

LOAD = Load(("single", "100ns", "none"), 16, (("section-ns", 100.0),))
BOUND_MS = 100.0


def contest(*others: str, ablated: tuple[str, ...] = ()) -> Contest:
    return Contest(
        Contender("tested"),
        tuple(map(Contender, ("pthread", *others))),
        {name: Contender(f"tested without {name}") for name in ablated},
    )


def run(
    name: str,
    number: int,
    rate: float,
    longest: float = 0.01,
    load: Load = LOAD,
    samples: Sequence[tuple[float, float]] = (),
) -> Run:
    """Return a run. number: of its round, from 0."""
    figures = {"rate": rate, "longest": longest, "processors": 1.0}
    details = {"others": 0.02, "samples": samples}
    return Run(figures=figures, details=details, slot=Slot(load.name, name, number + 1))


def failed(name: str, number: int) -> Run:
    return Run(FAILED, note="killed after 1 s", slot=Slot(LOAD.name, name, number + 1))


def runs(longest: float = 0.01, load: Load = LOAD, **rates: list[float]) -> Runs:
    return Runs(
        run(name.replace("_", " "), number, rate, longest, load)
        for name, values in rates.items()
        for number, rate in enumerate(values)
    )


def judged(records: Runs, *others: str, **options: tuple[str, ...]) -> verdict.Verdict:
    found = verdict.judge(LOAD, contest(*others, **options), records, BOUND_MS)
    assert found is not None
    return found


def test_the_best_lock_is_compared_on_the_other_half() -> None:
    """`even` is the best in the even rounds only, by chance; these do not count for it."""
    tested = dict.fromkeys(range(6), 100.0)
    others = {
        "even": {number: 200.0 if number % 2 == 0 else 50.0 for number in range(6)},
        "same": dict.fromkeys(range(6), 100.0),
    }
    found = choice.regret(tested, others, [list(others)] * 2)
    assert found is not None
    assert found.best == ("even", "same")
    # The odd rounds of `even`, three of 0.5, and the even rounds of `same`, three of 1.
    assert found.value == pytest.approx(math.sqrt(0.5) - 1)


def test_the_regret_of_equal_locks_is_not_above_zero() -> None:
    """The best of thirty equal locks seems better than the others; the regret excludes that."""
    source = random.Random(1)
    naive, found = [], []
    for _ in range(200):
        tested = {round_number: source.lognormvariate(0, 0.1) for round_number in range(6)}
        others = {
            f"lock {i}": {round_number: source.lognormvariate(0, 0.1) for round_number in range(6)}
            for i in range(30)
        }
        best = max(statistics.geometric_mean(each.values()) for each in others.values())
        naive.append(best / statistics.geometric_mean(tested.values()) - 1)
        regret = choice.regret(tested, others, [list(others)] * 2)
        assert regret is not None
        found.append(regret.value)
    assert statistics.fmean(naive) > 0.05
    assert abs(statistics.fmean(found)) < 0.02


def test_the_interval_is_of_the_logarithms() -> None:
    """It is Student's t with one degree of freedom less than rounds."""
    tested = dict.fromkeys(range(4), 1.0)
    other = {0: 1.0, 1: 2.0, 2: 1.0, 3: 2.0}
    found = choice.regret(tested, {"other": other}, [["other"]] * 2)
    assert found is not None
    logs = [math.log(value) for value in other.values()]
    half = 3.182446 * statistics.stdev(logs) / 2
    assert found.value == pytest.approx(math.sqrt(2) - 1)
    assert found.low == pytest.approx(math.exp(statistics.fmean(logs) - half) - 1, rel=1e-5)
    assert found.high == pytest.approx(math.exp(statistics.fmean(logs) + half) - 1, rel=1e-5)


def test_a_lock_that_starves_a_thread_is_not_the_best() -> None:
    records = runs(tested=[100.0] * 4, pthread=[90.0] * 4)
    for round_number in range(4):
        records.add(run("greedy", round_number, 900.0, longest=0.2))
    found = judged(records, "greedy")
    assert found.winner == "pthread"
    assert not found.unbounded
    assert found.regret is not None
    assert found.regret.value == pytest.approx(-0.1)


def test_a_dropped_lock_is_the_best_if_no_other_is_within_the_bound() -> None:
    """It has fewer rounds than the lock under test."""
    records = runs(tested=[100.0] * 4, fair=[2.0] * 2)
    for round_number in range(4):
        records.add(run("pthread", round_number, 300.0, longest=0.2))
    found = judged(records, "fair")
    assert found.winner == "fair"
    assert found.regret is not None
    assert found.regret.value == pytest.approx(-0.98)
    assert found.regret.ratio.rounds == 2


def test_if_every_lock_starves_any_may_be_the_best() -> None:
    found = judged(runs(longest=5.0, tested=[100.0] * 4, pthread=[150.0] * 4))
    assert found.unbounded
    assert found.winner == "pthread"


def test_a_failed_run_is_ignored_and_two_disqualify() -> None:
    records = runs(tested=[100.0] * 4, pthread=[90.0] * 4, other=[200.0] * 2)
    for round_number in (2, 3):
        records.add(failed("other", round_number))
    assert judged(records, "other").winner == "pthread"
    records = runs(pthread=[90.0] * 4)
    for round_number in (0, 1):
        records.add(failed("tested", round_number))
    found = judged(records, "other")
    assert not found.survives
    assert verdict.summarise([found]).failed == 1
    assert verdict.summarise([found]).close == 0


def test_ratios_to_the_baseline() -> None:
    found = judged(runs(tested=[120.0] * 4, pthread=[100.0] * 4))
    assert found.to_baseline is not None
    assert found.to_baseline.value == pytest.approx(1.2)
    assert found.processors is not None
    assert found.processors.value == pytest.approx(1.0)
    assert (found.longest, found.baseline_longest) == (0.01, 0.01)
    assert found.others == pytest.approx(0.02)


def test_the_gain_of_a_mechanism() -> None:
    records = runs(tested=[100.0, 101.0] * 2, pthread=[90.0] * 4)
    for n in range(4):
        records.add(run("tested without spin-ns", n, 50.0 + n))
    found = judged(records, ablated=("spin-ns",))
    assert found.ablated is not None
    assert found.ablated["spin-ns"].value == pytest.approx(1.952, abs=1e-2)
    assert tables.ablation_grid([found], "tested") is not None
    # The variants are not among the locks that may be best.
    assert found.winner == "pthread"


def remaining(records: Runs, *others: str) -> set[str]:
    """Return the contenders that run in the third round."""
    rivals = contest(*others)
    rule = _rule(rivals, [LOAD], 4, BOUND_MS)
    return set(rule.entrants(LOAD.name, 3, [each.name for each in rivals.all], records))


def test_locks_far_behind_are_dropped_after_two_rounds() -> None:
    records = runs(tested=[100.0] * 2, pthread=[10.0] * 2, slow=[40.0] * 2, once=[40.0, 60.0])
    assert remaining(records, "slow", "once") == {"tested", "pthread", "once"}


def test_a_starving_lock_drops_no_other() -> None:
    records = runs(tested=[100.0] * 2, pthread=[100.0] * 2, fair=[90.0] * 2)
    for round_number in range(2):
        records.add(run("greedy", round_number, 900.0, longest=0.2))
    assert "fair" in remaining(records, "fair", "greedy")


def test_the_summary_counts_cells() -> None:
    found = []
    for threads, rate in ((2, 100.0), (4, 110.0), (8, 200.0)):
        load = Load(("single",), threads, ())
        records = runs(load=load, tested=[100.0] * 4, pthread=[rate] * 4)
        result = verdict.judge(load, contest(), records, BOUND_MS)
        assert result is not None
        found.append(result)
    summary = verdict.summarise(found)
    assert (summary.cells, summary.close, summary.near) == (3, 1 / 3, 2 / 3)
    assert summary.shown == 2
    assert summary.worst is found[2]
    assert summary.lost == {"pthread": 2}
    assert summary.slower == 2
    assert (summary.waits, summary.times) == (1, 1)
    assert "single/8" in " ".join(tables.sentences(summary, "tested"))


def phases(first: float, second: list[float]) -> list[tuple[float, float]]:
    """Return samples of 0.1 s at one rate and 0.1 s in windows at the others."""
    samples = [(-0.1, 0.0), (0.0, 0.1 * first)]
    for rate in second:
        time, count = samples[-1]
        samples.append((time + 0.1 / len(second), count + rate * 0.1 / len(second)))
    return samples


def test_the_time_to_settle() -> None:
    """One lock settles at once, one after 40 ms, and one never."""
    best = [phases(10, [1000.0] * 20)]
    assert settling_time([phases(5000, [990.0] * 20)], best) == 0
    found = settling_time([phases(10, [500.0] * 8 + [1000.0] * 12)], best)
    assert found == pytest.approx(0.04, abs=0.006)
    assert settling_time([phases(1000, [900.0] * 20)], best) is None
    assert settling_time([], best) is None


def test_the_time_to_settle_is_in_the_summary() -> None:
    load = Load(("step", "few-many"), 16, (), 2)
    records = Runs()
    for round_number in range(2):
        for name, rate in (("tested", 1000.0), ("pthread", 900.0)):
            samples = phases(10, [rate] * 20)
            records.add(run(name, round_number, rate, load=load, samples=samples))
    result = verdict.judge(load, contest(), records, BOUND_MS)
    assert result is not None
    assert result.settled == 0
    assert "0 ns" in tables.details(result)


def test_switches_are_the_tunables_that_may_be_zero() -> None:
    def tunable(name: str, default: int, least: int) -> Tunable:
        return Tunable(name, f"LOCKWRIGHT_X_{name.upper()}", default, "", least, 9, "", "")

    listed = [tunable("on", 1, 0), tunable("auto", 0, 0), tunable("batch", 4, 1)]
    assert [each.name for each in contenders.switches(listed)] == ["on"]


@pytest.mark.parametrize("processors", [1, 2, 3, 64])
def test_cells_of_the_grid_are_unique(processors: int) -> None:
    cells = grid.grid(processors)
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)
    assert {cell.family for cell in cells} >= {"single", "locks", "hog", "quota", "burst"}
    assert {cell.family for cell in cells} >= {"queue", "pipeline", "pool", "trylock"}
    assert {cell.family for cell in cells} >= {"step", "period"}
    assert len(grid.quick_grid(processors)) == 12
    assert {1, 32 * processors, 1000} <= set(grid.thread_counts(processors))
    alone = [cell for cell in grid.choose(cells, "queue,single/100ns/*/1") if cell.threads == 1]
    assert [cell.name for cell in alone] == ["single/100ns/none/1"]
    of_rwlocks = grid.rwlock_grid(processors)
    assert len({cell.name for cell in of_rwlocks}) == len(of_rwlocks)
    assert {cell.threads for cell in of_rwlocks} == {1, processors, 4 * processors}
    assert {cell.option("read-percent") for cell in of_rwlocks} == {0, 50, 90, 99, 100}


def test_a_broken_lock_ends_the_benchmark() -> None:
    broken = Outcome(details={"problems": ["two threads were inside the section at once"]})
    with pytest.raises(LockwrightError, match="two threads were inside"):
        native.outcome(broken, "single/2", "bad")


def test_the_map_shows_the_best_lock() -> None:
    records = runs(tested=[100.0] * 4, pthread=[150.0] * 4)
    (row,) = tables.map_grid("", [judged(records)]).rows
    assert [text for text, _ in row.cells] == ["single/100ns/none", "+50 % pthread"]
