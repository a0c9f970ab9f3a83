"""The model that is derived from a profile."""

import dataclasses
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.predict import choose, fit
from lockwright.predict.derive import derive
from lockwright.predict.prepare import prepare
from lockwright.predict.profiled_machine import kernel_factor, with_kernel_costs
from lockwright.profile.record import Profile
from lockwright.simulate import machine
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import mean

from . import examples


def test_sections_and_gaps_have_the_means_of_the_profile() -> None:
    """Two active seconds: 0.4 in sections, 0.02 waiting, the rest in 400,000 gaps."""
    model = derive(examples.two_workers(), None).model
    (role,) = model.roles
    assert (role.threads, role.takes) == (2, ((0, 1.0),))
    assert mean(model.mutexes[0].section) == pytest.approx(1000)
    assert mean(role.gap) == pytest.approx((2e9 - 400_000 * 1000 - 40_000 * 500) / 400_000)


def test_the_cost_of_calls_is_not_part_of_the_gap() -> None:
    """The simulator adds it: two read-modify-writes; of the tenth that is contended a wake call, of
    which half find a sleeper."""
    of = machine.load("xeon-8260x2")
    profile = examples.two_workers(voluntary=20_000)
    without, with_machine = (mean(derive(profile, each).model.roles[0].gap) for each in (None, of))
    figures = of.figures
    calls = 2 * figures["hit.rmw_cycles"] / figures["clock.ghz"]
    calls += 0.1 * (figures["kernel.miss_ns"] + figures["kernel.bucket_ns"])
    calls += 0.05 * (figures["kernel.wake_ns"] + figures["kernel.interrupt_ns"])
    assert without - with_machine == pytest.approx(calls)


def test_kernel_time_is_the_mutexes_where_threads_sleep_for_nothing_else() -> None:
    """A tenth of a second for 20,000 sleeps, of which 10,000 page faults took 0.01 s."""
    of = machine.load("xeon-8260x2")
    spent = {"voluntary": 20_000, "cpu_system": 1e8, "minor_faults": 10_000}
    profile = examples.two_workers(**spent)
    derived = derive(profile, of)
    assert derived.kernel_ns == pytest.approx(0.09e9 / 400_000)
    gap, without = (mean(derive(profile, each).model.roles[0].gap) for each in (of, None))
    pair = 2 * of.figures["hit.rmw_cycles"] / of.figures["clock.ghz"]
    assert without - gap == pytest.approx(derived.kernel_ns + pair)
    other: list[dict[str, float]] = [
        {"cpu_system": 2e9},
        {"cond_waits": 1},
        {"voluntary": 50_000},
        {"cpu_user": 0.5e9},
    ]
    for changed in other:
        assert derive(examples.two_workers(**{**spent, **changed}), of).kernel_ns == 0


def test_the_kernel_of_the_machine_is_as_slow_as_the_profile_shows() -> None:
    factors = {(1.0, 300, 200): 1.5, (1.5, 300, 200): 2.25, (1.0, 100, 200): 1, (1.0, 9000, 200): 4}
    for (before, profiled, simulated), factor in factors.items():
        assert kernel_factor(before, profiled, simulated) == pytest.approx(factor)
    of = machine.load("xeon-8260x2")
    figures = with_kernel_costs(of, 1.5).figures
    assert figures["kernel.sleep_ns"] == pytest.approx(1.5 * of.figures["kernel.sleep_ns"])
    assert figures["kernel.wake_latency_ns"] == of.figures["kernel.wake_latency_ns"]


def test_a_prediction_has_the_kernel_of_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """It spends twice as long on each acquisition as in simulations with the machine's figures."""
    of = machine.load("xeon-8260x2")
    profile = examples.two_workers(voluntary=20_000, cpu_system=1e8)

    def trials(models: Any, on: Machine, *_: object) -> list[fit._Trial]:
        slower = on.figures["kernel.sleep_ns"] / of.figures["kernel.sleep_ns"]
        return [fit._Trial(key[0], each, (4e5,), 0.1, 125 * slower) for key, each in models.items()]

    monkeypatch.setattr(fit, "_try", trials)
    header = prepare(profile, of, of, choose.quick())
    assert header.derived.kernel_ns == 250
    assert header.machine.figures["kernel.sleep_ns"] == 2 * of.figures["kernel.sleep_ns"]


def test_the_rate_is_that_of_the_profile() -> None:
    assert derive(examples.two_workers(), None).rate == pytest.approx(400_000)


def test_threads_that_take_other_mutexes_have_another_role() -> None:
    """The acquisitions of a shared mutex are divided by those of its threads."""
    mutexes = [
        examples.mutex("a", acquisitions=300, section=10, users=(1, 2), contended=5, wait=10),
        examples.mutex("b", acquisitions=200, section=10, users=(3,)),
        examples.mutex("both", acquisitions=250, section=10, users=(1, 2, 3)),
    ]
    threads = [examples.thread(1, 250), examples.thread(2, 250), examples.thread(3, 250)]
    model = derive(examples.profile(mutexes, threads), None).model
    pair, single = model.roles
    assert (pair.threads, pair.scales) == (2, True)
    assert (single.threads, single.scales) == (1, False)
    assert dict(pair.takes) == pytest.approx({0: 0.6, 2: 0.4})
    assert dict(single.takes) == pytest.approx({1: 0.8, 2: 0.2})


def test_threads_that_are_slower_have_another_role() -> None:
    one = examples.mutex("a", acquisitions=1100, section=10, users=(1, 2), contended=5, wait=10)
    threads = [examples.thread(1, 1000), examples.thread(2, 100)]
    fast, slow = derive(examples.profile([one], threads), None).model.roles
    assert mean(fast.gap) == pytest.approx(mean(slow.gap) / 10, rel=0.01)


def test_time_off_the_processor_is_a_sleep() -> None:
    """Half of the time, in 1000 sleeps beside the contended acquisitions."""
    one = examples.mutex(
        "a", acquisitions=20_000, section=1000, users=(1, 2), contended=10, wait=10
    )
    threads = [examples.thread(n, 10_000, 5, on_processor=0.5) for n in (1, 2)]
    model = derive(examples.profile([one], threads, voluntary=1010), None).model
    (role,) = model.roles
    assert role.block_share == pytest.approx(0.05)
    assert role.block_ns * role.block_share == pytest.approx(1e9 / 20_000, rel=0.01)
    assert any("wait for outside mutexes" in line for line in model.unknown)


def test_what_is_unknown_is_named() -> None:
    model = derive(examples.two_workers(cond_waits=5000, rwlock_calls=77, runnable=4.0), None).model
    text = "\n".join(model.unknown)
    for part in ("5,000 waits are sleeps", "77 calls of reader-writer", "more threads than"):
        assert part in text, text


def test_sections_fit_into_the_time_of_the_threads() -> None:
    """Two active seconds of two threads, of which the samples state three in sections."""
    one = examples.mutex("a", acquisitions=1000, section=3e6, users=(1, 2), contended=10, wait=1e6)
    derived = derive(examples.profile([one], [examples.thread(n, 500, 5) for n in (1, 2)]), None)
    assert mean(derived.model.mutexes[0].section) == pytest.approx((2e9 - 1e7) / 1000)


def test_holders_that_sleep() -> None:
    """A second in sections, with 0.1 s of processor time, and no other thread to run."""
    one = examples.mutex("a", acquisitions=1000, section=1e6, users=(1, 2), contended=10, wait=1e6)
    threads = [examples.thread(n, 500, 5, on_processor=0.05) for n in (1, 2)]
    (mutex,) = derive(examples.profile([one], threads), None).model.mutexes
    assert mutex.asleep == pytest.approx(0.9)


def test_a_short_run_has_the_processor_time_of_all_threads() -> None:
    """No sample saw a thread: half of two active seconds, so the rest is sleep."""
    one = examples.mutex(
        "a", acquisitions=20_000, section=1000, users=(1, 2), contended=10, wait=10
    )
    threads = [examples.thread(n, 10_000, 5, on_processor=None) for n in (1, 2)]
    model = derive(examples.profile([one], threads, cpu_user=1e9, voluntary=1010), None).model
    assert model.roles[0].block_share == pytest.approx(0.05)


def test_threads_that_try_again_and_again() -> None:
    one = examples.mutex(
        "a",
        acquisitions=1000,
        section=1000,
        users=(1, 2),
        contended=1,
        wait=1,
        failed_trylocks=9000,
    )
    threads = [examples.thread(n, 500) for n in (1, 2)]
    assert derive(examples.profile([one], threads), None).model.mutexes[0].polls


def test_time_in_which_others_ran_is_no_sleep() -> None:
    """The kernel took the processor away for a time slice, 300 times; the rate is of the rest."""
    one = examples.mutex(
        "a", acquisitions=20_000, section=1000, users=(1, 2), contended=10, wait=10
    )
    threads = [examples.thread(n, 10_000, 5, on_processor=0.5) for n in (1, 2)]
    used = {"cpu_user": 1e9, "voluntary": 10, "involuntary": 300}
    derived = derive(examples.profile([one], threads, **used), None)
    (role,) = derived.model.roles
    assert role.block_share == 0
    assert derived.rate == pytest.approx(40_000)
    assert mean(role.gap) == pytest.approx((1e9 - 20_000 * 1000) / 20_000, rel=0.01)


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (examples.without_waiting(), "waited"),
        (examples.of_an_earlier_version(), "earlier version"),
        (dataclasses.replace(examples.two_workers(), mechanism="attached"), "--pid"),
        (examples.profile([], []), "no mutex"),
    ],
)
def test_a_profile_that_does_not_suffice_is_refused(profile: Profile, reason: str) -> None:
    with pytest.raises(LockwrightError) as refusal:
        derive(profile, None)
    assert reason in refusal.value.what + refusal.value.todo
