"""Energy over a period, read so often that no counter wraps twice between readings."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lockwright.machine.energy.domains import Domain

MOST_WATTS = 1000.0
"""An upper bound of a domain's power: the largest sockets are built for 500 W."""

_LONGEST = 10.0
_SHORTEST = 0.01
"""The longest and the shortest period between readings, in seconds."""


def period(domains: Sequence[Domain]) -> float:
    """Return the seconds between readings: half the least time in which a counter can wrap."""
    ranges = [each.range_ * each.joules for each in domains]
    soonest = min(ranges, default=_LONGEST * 2 * MOST_WATTS) / MOST_WATTS
    return min(_LONGEST, max(_SHORTEST, soonest / 2))


@dataclass(frozen=True)
class EnergyUse:
    """Joules by kind, summed over the sockets, in `seconds`; absent: reasons for missing kinds."""

    seconds: float
    joules: Mapping[str, float]
    absent: Mapping[str, str] = field(default_factory=dict)

    def watts(self) -> dict[str, float]:
        """Return the mean power by kind."""
        if self.seconds <= 0:
            return {}
        return {kind: joules / self.seconds for kind, joules in self.joules.items()}


class Meter:
    """Reads several domains between `begin` and `end`, in its own thread."""

    def __init__(
        self,
        domains: Sequence[Domain],
        every: float = _LONGEST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """every: most seconds between readings. clock: returns seconds."""
        self._domains = list(domains)
        self._clock = clock
        self._period = min(every, period(self._domains))
        self._times: list[float] = []
        self._counts: dict[str, list[int]] = {}
        self._failed: dict[str, str] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Read all domains, and start to read them periodically."""
        self._times = []
        self._counts = {each.name: [] for each in self._domains}
        self._failed = {}
        self._over.clear()
        self.sample()
        self._thread = threading.Thread(target=self._sample_periodically, daemon=True)
        self._thread.start()

    def end(self) -> EnergyUse:
        """Read all domains once more, and return the energy used since `begin`."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.sample()
        return self.between(self._times[0], self._times[-1])

    def between(self, began: float, ended: float) -> EnergyUse:
        """Return the energy used between two times of the clock; called after `end`.

        Energy is interpolated linearly between readings; the times are clamped to those of the
        first and the last reading.
        """
        began, ended = (
            min(max(moment, self._times[0]), self._times[-1]) for moment in (began, ended)
        )
        joules: dict[str, float] = {}
        absent: dict[str, str] = {}
        for each in self._domains:
            if each.name in self._failed:
                absent[each.kind] = f"{each.name}: {self._failed[each.name]}"
                continue
            parts = each.joules_between(self._counts[each.name])
            part = sum(
                joules_of_step * _overlap(first, last, began, ended)
                for joules_of_step, (first, last) in zip(parts, pairwise(self._times), strict=True)
            )
            joules[each.kind] = joules.get(each.kind, 0.0) + part
        complete = {kind: value for kind, value in joules.items() if kind not in absent}
        return EnergyUse(ended - began, complete, absent)

    def sample(self) -> None:
        """Read all domains; a failure is reported at the end."""
        self._times.append(self._clock())
        for each in self._domains:
            if each.name in self._failed:
                continue
            try:
                self._counts[each.name].append(each.read())
            except OSError as error:
                self._failed[each.name] = f"{error.strerror or error} while it was read"

    def _sample_periodically(self) -> None:
        while not self._over.wait(self._period):
            self.sample()


def _overlap(first: float, last: float, began: float, ended: float) -> float:
    """Return the share of the period from `first` to `last` that is within `began` to `ended`."""
    if last <= first:
        # The period is empty: its energy counts if that moment is within the limits.
        return 1.0 if began <= first <= ended else 0.0
    return max(0.0, min(last, ended) - max(first, began)) / (last - first)
