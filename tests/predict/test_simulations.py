"""Which simulations a prediction makes, and their progress; the simulator itself is replaced."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from lockwright.predict import ranking
from lockwright.predict.derive import derive
from lockwright.predict.simulations import Point, length, rate_limit, simulate
from lockwright.simulate import machine, progress, run

from . import examples


@pytest.fixture
def jobs() -> Mapping[ranking.Key, run.Job]:
    """Return the simulations of three locks at four points."""
    (variant,) = derive(examples.two_workers(), None).variants
    here = machine.load("xeon-8260x2")
    points = [Point(variant, here, seed, "") for seed in range(4)]
    return ranking.jobs(points, ["futex", "ttas"], [2], 0.001)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of simulated locks. There is one processor, and `futex` has no end."""
    locks: list[str] = []

    def simulate_one(job: run.Job, _inputs: list[str], _timeout: float) -> run.Line:
        locks.append(job.cell.lock)
        if job.cell.lock == "futex":
            raise run._Failed("no end after 120 s")
        return {"lock": job.cell.lock}

    monkeypatch.setattr(run, "_simulate", simulate_one)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0})
    return locks


def test_a_lock_that_failed_is_not_simulated_again(
    jobs: Mapping[ranking.Key, run.Job], simulated: list[str]
) -> None:
    """It would take the whole --timeout each time, and is left out of the ranking anyway."""
    seen: list[tuple[int, str]] = []

    @contextmanager
    def progress(number: int) -> Iterator[Any]:
        yield lambda about: seen.append((number, about))

    outcomes = simulate(jobs, 120.0, progress, lambda key: key[1])
    assert sorted(simulated) == ["futex", *4 * ["pthread"], *4 * ["ttas"]]
    assert [cell.lock for _, cell in outcomes.failures] == ["futex"]
    assert len(outcomes.lines) == 8
    # Those that are left out count, or the display would never be complete.
    assert len(seen) == 12
    assert set(seen) == {(12, f"{lock}, 2 threads") for lock in ("pthread", "futex", "ttas")}


def test_jobs_are_groups_of_their_own_by_default(
    jobs: Mapping[ranking.Key, run.Job], simulated: list[str]
) -> None:
    outcomes = simulate(jobs, 120.0)
    assert len(simulated) == 12
    assert len(outcomes.failures) == 4


def _lines(
    seconds: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Return the lines of twenty simulations that take so long each."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr("lockwright.base.progress.time", clock)
    with progress.simulations(20) as advance:
        for _ in range(20):
            now[0] += seconds
            advance("futex, 2 threads")
    return capsys.readouterr().err.splitlines()


def test_long_simulations_print_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Soon a first one, and then one for each tenth."""
    lines = _lines(21.0, monkeypatch, capsys)
    assert lines[0] == "lockwright: 1 of 20 simulations, about 7 min left"
    assert [line.split()[1] for line in lines] == ["1", *map(str, range(2, 21, 2))]
    lines = _lines(5.0, monkeypatch, capsys)
    assert lines[0] == "lockwright: 1 of 20 simulations, about 2 min left"


def test_short_simulations_print_nothing_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _lines(0.1, monkeypatch, capsys) == []


def test_short_sections_of_many_threads_do_not_last_for_all_time_slices() -> None:
    """Twenty slices, or the time of half a million sections if that is shorter."""
    here = machine.load("xeon-8260x2")
    slices = 20 * here.figures["kernel.slice_us"] / 1e6
    for acquisitions, is_shorter in ((1e6, True), (1e3, False)):
        one = examples.mutex("a", acquisitions=acquisitions, section=1, users=(1, 2))
        threads = [examples.thread(n, acquisitions / 2) for n in (1, 2)]
        profile = examples.profile([one], threads)
        model = derive(profile, None, needs_waiting=False).model.with_threads(256)
        expected = 500_000 / rate_limit(model, here) if is_shorter else slices
        assert length(model, here, 5) == pytest.approx(expected)
