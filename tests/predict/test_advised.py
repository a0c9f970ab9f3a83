"""The predicted gains of an advice, without simulations."""

import dataclasses

import pytest
from lockwright.advise import Advice, Change, advise
from lockwright.predict import advised, changes
from lockwright.predict.derive import derive
from lockwright.profile.record import Profile
from lockwright.simulate import machine
from lockwright.simulate.model import mean

from . import examples


def with_gains(profile: Profile, advice: Advice) -> Advice:
    def progress(number: int) -> None:
        raise AssertionError(f"{number} simulations")

    return advised.with_gains(
        profile,
        advice,
        machine.load("xeon-8260x2"),
        False,
        1.0,
        progress,  # type: ignore[arg-type]
    )


def changed(profile: Profile, kind: str) -> Advice:
    """Return an advice with one change of the whole program."""
    change = Change(kind, None, "Do it otherwise.", ())
    return dataclasses.replace(advise(profile), changes=(change,), shortlist=())


@pytest.mark.parametrize(
    ("kind", "gained"), [("reuse", 2.0), ("poll", 2.0), ("parallel creation", 1 / 0.75)]
)
def test_what_is_not_simulated_saves_time_of_the_profile(kind: str, gained: float) -> None:
    """Half of a second of processor time is in the kernel, in one second with two threads."""
    profile = examples.two_workers(cpu_user=5e8, cpu_system=5e8, minor_faults=10**9)
    (gain,) = with_gains(profile, changed(profile, kind)).predicted.gains  # type: ignore[union-attr]
    assert gain.throughput == pytest.approx(gained)


def test_what_nothing_limits_has_no_gain() -> None:
    profile = examples.two_workers()
    (gain,) = with_gains(profile, changed(profile, "less memory")).predicted.gains  # type: ignore[union-attr]
    assert (gain.throughput, gain.reason) == (None, "the model lacks it")


def test_a_profile_without_a_model_has_a_reason() -> None:
    profile = dataclasses.replace(examples.two_workers(), threads=())
    predicted = with_gains(profile, changed(profile, "batch")).predicted
    assert predicted is not None
    assert "earlier version" in predicted.reason


def test_one_acquisition_for_several_sections() -> None:
    model = derive(examples.two_workers(), None).model
    change = changes.batch(8)
    after = change.apply(model)
    assert mean(after.mutexes[0].section) == pytest.approx(8000)
    assert mean(after.roles[0].gap) == pytest.approx(8 * mean(model.roles[0].gap))
    assert change.sections == 8
