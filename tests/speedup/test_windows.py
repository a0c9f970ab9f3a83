"""The gains that follow from made windows, and what is refused."""

import random
from dataclasses import replace

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run.process_runner import Ending
from lockwright.speedup.choice import Chosen, Subject
from lockwright.speedup.experimenter import Trial, checked
from lockwright.speedup.measure import Curve, Measured
from lockwright.speedup.show import rows
from lockwright.speedup.verdict import notes, sentence
from lockwright.speedup.whole_runs import Figure
from lockwright.speedup.windows import (
    MOST_OVERHEAD,
    NO_WAITS,
    READERS,
    Room,
    Round,
    Window,
    delayed_share,
    gains,
    needed_rest,
    overhead,
)

SUBJECT = Subject("hot", "done", 0.06)
DELAYED = {0: 0.0, 50: 0.3, 100: 0.6}
"""The share of a window that is inserted delays."""
TRUE = {0: 1.0, 50: 1.3, 100: 1.8}
"""The rate, divided by that of the controls."""


def made(draw: random.Random, count: int, drift: float = 0.0) -> list[Round]:
    """Return rounds of a program of a known rate, which grows by a factor of e ** drift."""
    found: list[Round] = []
    for number in range(count):
        windows = {}
        for share, delayed in DELAYED.items():
            ns = draw.uniform(55e6, 65e6)
            speed = 1e-3 * 2.718 ** (drift * number / count) * draw.gauss(1, 0.02)
            events = speed * TRUE[share] * ns * (1 - delayed)
            windows[share] = Window(share, ns, ns * delayed, round(events))
        found.append(windows)
    return found


def test_gains_are_those_of_the_time_without_delays() -> None:
    """Of 200 runs, of which each changes its speed a lot, the intervals cover; they are as wide as
    the method's own error, which these runs lack."""
    draw, covered = random.Random(1), 0
    for _ in range(200):
        for each in gains(made(draw, 20, 2.0)):
            assert each.ratio is not None
            assert each.ratio.value == pytest.approx(TRUE[each.share], rel=0.05)
            assert each.ratio.low is not None
            assert each.ratio.high is not None
            covered += each.ratio.low <= TRUE[each.share] <= each.ratio.high
            own = 0.08 + 0.15 * DELAYED[each.share]
            assert each.ratio.high / each.ratio.value > 1 + own
    assert covered > 0.99 * 400
    assert delayed_share(made(draw, 5)) == pytest.approx(0.3, rel=0.1)
    # By the wall clock: 1, 1 / (1.3 * 0.7) and 1 / (1.8 * 0.4) times as long for as much.
    rounds = made(draw, 50)
    assert overhead(rounds) == pytest.approx(0.157, abs=0.02)
    pause = needed_rest(rounds, 1e9)
    assert overhead(rounds, 1e9 + pause) == pytest.approx(MOST_OVERHEAD)
    assert needed_rest(rounds, 2e9 + pause) == 0


@pytest.mark.parametrize(
    ("pattern", "is_time", "figures"),
    [(None, False, (None, None)), ("rate", False, ("10", "8")), ("took", True, ("20 ", "25"))],
)
def test_the_figure_of_a_run_is_corrected_for_delays(
    pattern: str | None, is_time: bool, figures: tuple[str | None, str | None]
) -> None:
    """A run of 2 s, and one of 2.5 s of which 1 s is delays: 4/3 as fast in each kind of figure."""
    figure = Figure(pattern, is_time, 3, 60)
    made = {
        share: figure.window(share, Ending("exited", wall=wall, status=0, metric=text), delayed)
        for share, wall, text, delayed in ((0, 2, figures[0], 0), (50, 2.5, figures[1], 1e9))
    }
    (gain,) = gains([made, made])
    assert gain.ratio is not None
    assert gain.ratio.value == pytest.approx(4 / 3)
    assert overhead([made]) == pytest.approx(0.125)
    for ending, reason in (
        (Ending("exited", wall=1, status=256, errors="wrong"), "failed .*wrong"),
        (Ending("exited", wall=1, status=0, metric="none"), "no progress"),
    ):
        if pattern is not None or ending.status:
            with pytest.raises(LockwrightError, match=reason):
                figure.window(0, ending, 0)


def test_processors_limit_what_many_threads_gain() -> None:
    """Controls use 1.5 of two processors, one of them in sections."""
    rounds: list[Round] = [
        {
            share: Window(share, 60e6, 0, rate, 90e6)
            for share, rate in ((0, 100), (25, 120), (50, 250), (NO_WAITS, 300))
        }
    ] * 3
    room = Room(2, 1.0)
    shorter, short, none = gains(rounds, room)
    assert shorter.ratio is not None
    assert shorter.ratio.value == pytest.approx(1.2)
    assert not shorter.is_limited
    for gain, most in ((short, 2.0), (none, 2 / 1.5)):
        assert gain.ratio is not None
        assert gain.ratio.value == pytest.approx(most)
        assert gain.ratio.low is not None
        assert gain.ratio.low < most
        assert gain.is_limited
    unknown: list[Round] = [{s: replace(w, cpu=None) for s, w in r.items()} for r in rounds]
    assert [each.ratio and round(each.ratio.value, 6) for each in gains(unknown, room)] == [
        1.2,
        2.5,
        3,
    ]


def test_what_precedes_the_experiments_is_as_in_a_control() -> None:
    """Half a second at the control's rate of 1, and then 1.5 s, of which 0.5 s is delays."""
    run: Round = {0: Window(0, 2e9, 0, 2), 50: Window(50, 2e9, 5e8, 2, before=5e8)}
    (gain,) = gains([run, run])
    assert gain.ratio is not None
    assert gain.ratio.value == pytest.approx(1.5)


def measured(rounds: list[Round]) -> Measured:
    return Measured(("program",), (Curve(SUBJECT, tuple(rounds)),))


def changed(rounds: list[Round], rate: float) -> list[Round]:
    """Return rounds in which half as long sections make the program so many times as fast."""
    return [{0: each[0], 50: Window(50, each[0].ns, 0, rate * each[0].progress)} for each in rounds]


def test_a_sentence_says_what_was_found() -> None:
    rounds = made(random.Random(2), 20)
    text = sentence(measured(rounds))
    assert text.startswith("With sections of hot 100 % shorter, done would be taken 1.")
    (how,) = notes(measured(rounds))
    assert "Measured in 20 windows of about 60" in how
    assert "made the run 14 % longer" in how
    text = sentence(measured(changed(rounds, 1)))
    assert "would be taken as often as now" in text
    assert text.endswith("hot limits nothing.")
    # Two rounds that differ prove neither a gain nor that there is none.
    text = sentence(measured([*changed(rounds[:1], 0.9), *changed(rounds[1:2], 1.5)]))
    assert "no proof of a gain" in text
    # Where nothing is left without the delays, there is no gain, not an infinite one.
    full = measured([{0: each[0], 50: Window(50, 60e6, 59.5e6, 10_000)} for each in rounds])
    assert rows(full, {})[0]["gain"] is None
    assert "No gain could be measured" in sentence(full)


def test_a_sentence_ranks_several_mutexes() -> None:
    rounds = made(random.Random(4), 20)
    full: list[Round] = [{0: each[0], 50: Window(50, 60e6, 59.5e6, 10_000)} for each in rounds]
    of: dict[str, list[Round]] = {
        "idle": changed(rounds, 1.01),
        "hot": changed(rounds, 1.8),
        "warm": changed(rounds, 1.3),
        "full": full,
    }
    curves = [Curve(Subject(name, name, 0.06), tuple(of[name])) for name in of]
    text = sentence(Measured(("program",), tuple(curves)))
    assert text.startswith("Shorter sections of hot gain most: 50 % shorter, 1.80 times (1.")
    _, warm, idle, nothing = text.split("; ")
    assert warm.startswith("of warm, 1.30 times (1.")
    assert idle.startswith("idle limits nothing (0.9")
    assert nothing == "none could be measured of full, whose sections take nearly all time."
    text = sentence(Measured(("program",), (curves[0], curves[3])))
    assert text.startswith("No gain was found of sections 50 % shorter: idle limits nothing (")
    assert any("--progress" in line for line in notes(Measured(("p",), tuple(curves))))


def test_a_sentence_says_what_no_waits_gain() -> None:
    rounds = made(random.Random(6), 20)
    both: list[Round] = [
        {**each, NO_WAITS: replace(each[0], share=NO_WAITS, progress=1.4 * each[0].progress)}
        for each in rounds
    ]
    text = sentence(measured(both))
    assert "times as often (1." in text
    assert "; without waits for it, 1.40 times (1." in text
    alone: list[Round] = [{share: each[share] for share in (0, NO_WAITS)} for each in both]
    assert sentence(measured(alone)).startswith(
        "Without waits for hot, done would be taken 1.40 times as often (1."
    )
    two = [Curve(Subject(name, "done", 0.06), tuple(alone)) for name in ("hot", "warm")]
    text = sentence(Measured(("program",), tuple(two)))
    assert text.startswith("No waits for hot gain most: 1.40 times (1.")


def test_a_sentence_says_what_readers_together_gain() -> None:
    rounds: list[Round] = [
        {
            0: each[0],
            READERS: replace(each[0], share=READERS, progress=1.4 * each[0].progress),
        }
        for each in made(random.Random(6), 20)
    ]
    assert sentence(measured(rounds)).startswith(
        "With readers of hot together, done would be taken 1.40 times as often (1."
    )
    two = [Curve(Subject(name, "done", 0.06), tuple(rounds)) for name in ("hot", "warm")]
    text = sentence(Measured(("program",), tuple(two)))
    assert text.startswith("Readers of hot together gain most: 1.40 times (1.")


def test_windows_grow_until_something_happens_in_them() -> None:
    trial = Trial(Chosen(SUBJECT, [0], [0]))
    still: Round = {share: Window(share, 60e6, 0, 0) for share in DELAYED}
    for _ in range(2):
        trial.add(still)
    assert trial.seconds == 4 * SUBJECT.seconds
    for each in made(random.Random(5), 3):
        trial.add(each)
    assert trial.seconds == 4 * SUBJECT.seconds
    # The short ones do not count.
    assert len(checked(SUBJECT, trial.rounds, 3)) == 3


def test_too_few_windows_and_no_progress_are_refused() -> None:
    rounds = made(random.Random(3), 3)
    still: Round = {share: Window(share, 60e6, 0, 0) for share in DELAYED}
    assert checked(SUBJECT, [*rounds, still], 3) == tuple(rounds)
    for refused, reason in ((rounds[:1], "ended before"), ([*rounds, *4 * [still]], "no progress")):
        with pytest.raises(LockwrightError, match=reason):
            checked(SUBJECT, refused, 3)
