"""The predicted gains of an advice, without simulations."""

import dataclasses

import pytest
from lockwright.advise import Advice, Change, Gain, Gains, advise
from lockwright.predict import advised, changes, choose
from lockwright.predict.choose import Choice
from lockwright.predict.derive import derive
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
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


def test_what_the_model_lacks_has_no_gain() -> None:
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


def contended() -> Profile:
    """Return the profile of two workers, of whose time a fifth is lost."""
    hot = examples.mutex(
        "hot", acquisitions=400_000, section=1000, users=(1, 2), contended=200_000, wait=2000
    )
    return examples.profile(
        [hot], [examples.thread(1, 200_000, 100_000), examples.thread(2, 200_000, 100_000)]
    )


@pytest.mark.parametrize("gains", [True, False])
def test_only_locks_that_gain_are_named(monkeypatch: pytest.MonkeyPatch, gains: bool) -> None:
    chosen = (Choice("futex", 1.3, 1.2, 1.4, 1.1),) if gains else ()
    monkeypatch.setattr(advised, "of_models", lambda *_: chosen)
    monkeypatch.setattr(advised, "_of_changes", lambda *_: [])
    profile = contended()
    advice = advise(profile)
    assert advice.lock_may_gain
    assert [each.lock for each in advice.shortlist] == ["default"]
    named = with_gains(profile, advice)
    assert [(each.lock, each.gain, each.gain_crowded) for each in named.shortlist] == (
        [("futex", 1.3, 1.1)] if gains else []
    )
    assert named.predicted is not None
    assert [gain.throughput for gain in named.predicted.gains] == ([1.3] if gains else [])
    assert ("keep the C library's mutex" in named.sentence) is not gains


def test_the_gain_of_the_default_is_that_of_its_mutexes(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = (Choice("futex", 1.4, 1.2, 1.4, 1.1), Choice("adaptive", 1.3, 1.2, 1.4, 1.1))
    monkeypatch.setattr(advised, "of_models", lambda *_: chosen)
    monkeypatch.setattr(advised, "_of_changes", lambda *_: [])
    named = with_gains(contended(), advise(contended()))
    assert [(each.lock, each.gain) for each in named.shortlist] == [
        ("futex", 1.4),
        ("default", 1.3),
    ]
    assert named.shortlist[1].reason.startswith("its mutexes: predicted 1.30 times")
    assert named.sentence.endswith("try futex or default.")
    assert named.predicted is not None
    assert [gain.text for gain in named.predicted.gains] == ["futex", "default"]


def header(profile: Profile, agreement: float | None) -> Header:
    found = None if agreement is None else Estimate(agreement, agreement, agreement)
    here = machine.load("xeon-8260x2")
    return Header("program", here, derive(profile, None), found, profile.process)


@pytest.mark.parametrize(
    ("agreement", "fits"), [(None, True), (1.4, True), (1.6, False), (0.7, True), (0.6, False)]
)
def test_a_model_that_does_not_fit_names_no_lock(
    monkeypatch: pytest.MonkeyPatch, agreement: float | None, fits: bool
) -> None:
    chosen = (Choice("futex", 1.3, 1.2, 1.4, 1.1),)
    profile = contended()
    monkeypatch.setattr(advised, "prepare", lambda *_: header(profile, agreement))
    monkeypatch.setattr(choose, "_simulate", lambda *_: [])
    monkeypatch.setattr(choose, "named", lambda *_: chosen)
    monkeypatch.setattr(choose, "is_gain", lambda *_: True)
    found = [Gain("sharding", None, "", 0.9, 0.8, 1.2), Gain("reuse", None, "", 1.2)]
    monkeypatch.setattr(advised, "_of_changes", lambda *_: found)
    advice = with_gains(profile, advise(profile))
    assert ("does not fit" in advice.sentence) is not fits
    assert advice.predicted is not None
    gains = {each.kind: each.throughput for each in advice.predicted.gains}
    assert (gains["sharding"], gains["reuse"]) == (0.9 if fits else None, 1.2)
    (warning,) = advice.predicted.warnings
    expected = "wrong by more than a tenth" if fits else "rely on none of these figures"
    assert (expected if agreement is not None else "was not compared") in warning


def test_a_misfit_matters_where_time_is_lost_waiting() -> None:
    """Where hardly any is, locks differ in the time of their calls."""
    of = header(contended(), 3.0)
    assert of.derived.lost_share >= 0.05
    assert of.misfit
    assert not dataclasses.replace(
        of, derived=dataclasses.replace(of.derived, lost_share=0.04)
    ).misfit


def test_lacking_processors_are_a_warning_and_more_threads() -> None:
    """Two threads that could run had half a processor together."""
    lacking = header(examples.two_workers(cpu_user=0.5e9), 1.0)
    assert (lacking.threads, lacking.crowded(1), lacking.crowded(2, 4)) == (8, 4, 32)
    (warning,) = lacking.warnings
    assert "had 0.50 together" in warning
    assert warning.endswith("2 threads are simulated as 8.")
    enough = header(examples.two_workers(cpu_user=1.7e9), 1.0)
    assert (enough.threads, enough.warnings) == (2, [])


@pytest.mark.parametrize(
    ("gains", "fits", "order"),
    [
        ((1.0, 1.04), True, "ab"),
        ((1.0, 1.06), True, "ba"),
        ((None, 1.04), True, "ab"),
        ((None, 1.06), True, "ba"),
        ((1.2, None, 1.5), True, "cab"),
        ((1.0, 1.5), False, "ab"),
    ],
)
def test_a_change_precedes_those_that_gain_relevantly_less(
    gains: tuple[float | None, ...], fits: bool, order: str
) -> None:
    """The limit is a factor of 1.05; without a model that fits, the order of the rules counts."""
    advice = dataclasses.replace(
        advise(contended()),
        changes=tuple(Change(kind, None, "", ()) for kind in "abc"[: len(gains)]),
    )
    found = Gains(tuple(Gain("", index, "", gain) for index, gain in enumerate(gains)))
    after = advised._sorted(advice, found, fits)
    assert "".join(each.kind for each in after.changes) == order
    assert after.predicted is not None
    kinds_by_gain = {
        after.changes[each.change or 0].kind: each.throughput for each in after.predicted.gains
    }
    assert kinds_by_gain == dict(zip("abc", gains, strict=False))
