"""The windows of a run with experiments, and the gains that follow from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.advise.measured import TOGETHER
from lockwright.base.wording import counted
from lockwright.stats.inference import Ratio, paired_ratio

MOST_OVERHEAD = 0.1
"""By how much longer the delays may make a run."""

_LEAST_LEFT = 0.02
"""Share of a window that has to be left without the delays: less is their error."""


NO_WAITS, READERS = 101, 102
"""Instead of a share: waits for the lock count as none, or those of readers for readers. A number
below 0: so many threads, as they are."""


def is_shorter(share: int) -> bool:
    """Return whether a change is one of the sections' length."""
    return 0 < share < NO_WAITS


def name(share: int) -> str:
    """Return a change in words."""
    if share < 0:
        return counted(-share, "thread")
    others = {NO_WAITS: "no waits for it", READERS: TOGETHER}
    return others.get(share, f"sections {share} % shorter")


@dataclass(frozen=True)
class Window:
    """A part of a run, or a run, in which the sections counted as `share` per cent shorter; 0 in a
    control. ns: its wall time; delayed: ns of it by which each thread was delayed; progress:
    acquisitions in it, or the work of the run; cpu: ns of processor time of the process outside the
    kernel, where waits cost most, if it is known; before: ns at its start that were as in a
    control."""

    share: int
    ns: float
    delayed: float
    progress: float
    cpu: float | None = None
    before: float = 0.0

    @property
    def rate(self) -> float:
        """The progress per second of the time without the delays; 0 where next to none is left."""
        return self.rate_beside(0.0)

    def rate_beside(self, control: float) -> float:
        """The same after `before`, in which it was the rate of a control; 0 where next to nothing
        is left of either."""
        before = self.before if control else 0.0
        left = self.ns - self.delayed - before
        progress = self.progress - control * before / 1e9
        return 1e9 * max(progress, 0.0) / left if left > _LEAST_LEFT * self.ns else 0.0


Round = Mapping[int, Window]
"""A window of each share, controls included."""


_ERROR, _ERROR_OF_DELAYS = 0.08, 0.15
"""The method's own error for long sections, and its part that grows with the share of the time that
is delays, as relative half widths: docs/lab/results/2026-11-28-experiments.md."""

_LONG, _MOST_ERROR = 160_000.0, 0.6
"""Sections from this length in ns on are long. The error of shorter ones grows with the root of
their number in that time, up to a limit: so 91 % of the intervals of
docs/lab/results/2026-11-29-experiments-2.md have the measured gain."""


@dataclass(frozen=True)
class Gain:
    """The rate of the program with sections `share` per cent shorter, divided by that of the
    controls; None if a window had no progress, or next to no time without the delays. Its interval
    includes the method's own error. is_limited: by the processors."""

    share: int
    ratio: Ratio | None
    is_limited: bool = False


@dataclass(frozen=True)
class Room:
    """What a program with more threads than processors can gain. processors: that it may use; held:
    those that are in sections, on average."""

    processors: int
    held: float

    def most(self, rounds: Sequence[Round], share: int) -> float:
        """Return the greatest gain of a share: that with which all processors are used. Infinity if
        the processor time is unknown."""
        if share < 0:
            return math.inf
        controls = [each[0] for each in rounds if each[0].cpu]
        used = sum(each.cpu or 0.0 for each in controls) / (sum(w.ns for w in controls) or 1.0)
        saved = share / 100 * min(self.held, used) if is_shorter(share) else 0.0
        return self.processors / (used - saved) if used > saved else math.inf


def gains(
    rounds: Sequence[Round], room: Room | None = None, section: float = math.inf
) -> list[Gain]:
    """Return the gain of each share, the least share first. Windows are compared with the control
    of the same round, so that a slow change of the program's speed does not count. Rounds with no
    rate are left out, unless they are half of all: a thread can be kept in a section all along.
    room: None where each thread can have a processor; section: ns of a section, on average."""
    shares = sorted({share for each in rounds for share in each} - {0}, key=lambda s: (s < 0, s))
    found = []
    for share in shares:
        rates = [(each[share].rate_beside(each[0].rate), each[0].rate) for each in rounds]
        pairs = [pair for pair in rates if pair[0] > 0]
        ratio = None
        if 2 * len(pairs) > len(rounds):
            ratio = paired_ratio(
                [rate for rate, _ in pairs], [control for _, control in pairs], False
            )
        delayed = delayed_share([{share: each[share]} for each in rounds])
        if ratio is not None and share > 0:
            ratio = _widened(ratio, _own_error(section) + _ERROR_OF_DELAYS * delayed)
        most = room.most(rounds, share) if room else math.inf
        is_limited = ratio is not None and ratio.value > most
        found.append(
            Gain(share, _scaled(ratio, most) if ratio and is_limited else ratio, is_limited)
        )
    return found


def _own_error(section: float) -> float:
    """Return the method's own error where there are next to no delays. section: ns."""
    return min(_MOST_ERROR, _ERROR * math.sqrt(max(1.0, _LONG / max(section, 1.0))))


def _scaled(ratio: Ratio, value: float) -> Ratio:
    """Return a ratio with another value, and an interval that is as wide."""
    factor = value / ratio.value
    low, high = (end and end * factor for end in (ratio.low, ratio.high))
    return replace(ratio, value=value, low=low, high=high)


def _widened(ratio: Ratio, error: float) -> Ratio:
    """Return a ratio whose interval includes an independent relative error."""
    if ratio.low is None or ratio.high is None:
        return ratio
    factor = math.exp(math.hypot(math.log(ratio.high / ratio.value), math.log1p(error)))
    return replace(ratio, low=ratio.value / factor, high=ratio.value * factor)


def _cost(rounds: Sequence[Round]) -> tuple[float, float]:
    """Return the ns that as much progress as in all windows takes in the controls, and how many
    more it took. Rounds without progress in a window are left out."""
    plain = total = 0.0
    for each in moving(rounds):
        control = each[0].ns / each[0].progress
        plain += sum(control * window.progress for window in each.values())
        total += sum(window.ns for window in each.values())
    return plain, total - plain


def moving(rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds with progress in each window."""
    return [each for each in rounds if all(window.progress > 0 for window in each.values())]


def needed_rest(rounds: Sequence[Round], rested: float) -> float:
    """Return the ns without experiments that have to follow so that the delays of the rounds make
    the run no more than MOST_OVERHEAD longer. rested: those that there were."""
    plain, extra = _cost(rounds)
    return max(0.0, extra / MOST_OVERHEAD - plain - rested)


def overhead(rounds: Sequence[Round], rested: float = 0.0) -> float:
    """Return by how much longer the delays made the run, 0.1 for 10 %; 0 for one without progress.
    rested: ns without experiments."""
    plain, extra = _cost(rounds)
    return extra / (plain + rested) if plain else 0.0


def delayed_share(rounds: Sequence[Round]) -> float:
    """Return the share of the windows' time that each thread was delayed for."""
    windows = [window for each in rounds for window in each.values()]
    return sum(each.delayed for each in windows) / sum(each.ns for each in windows)
