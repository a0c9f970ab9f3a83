"""Energy over a while: read at both ends, and often enough between that no counter laps itself."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.energy.domain import Domain, used

MOST_WATTS = 1000.0
"""More than any domain takes: the largest sockets are built for 500 W."""

_LONGEST = 10.0
_SHORTEST = 0.01
"""Seconds between readings, at most and at least."""


def period(domains: Sequence[Domain]) -> float:
    """Seconds between readings: half the least time in which a counter can come round."""
    ranges = [each.range_ * each.joules for each in domains if each.range_ is not None]
    soonest = min(ranges, default=_LONGEST * 2 * MOST_WATTS) / MOST_WATTS
    return min(_LONGEST, max(_SHORTEST, soonest / 2))


@dataclass(frozen=True)
class Used:
    """Joules by kind, summed over the sockets, in so many seconds; absent: why a kind is not."""

    seconds: float
    joules: Mapping[str, float]
    absent: Mapping[str, str] = field(default_factory=dict)

    def watts(self) -> dict[str, float]:
        """Mean power by kind."""
        return {kind: joules / self.seconds for kind, joules in self.joules.items()}


class Meter:
    """Reads several domains between `begin` and `end`, in a thread of its own."""

    def __init__(
        self, domains: Sequence[Domain], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """domains: what to read. clock: seconds."""
        self._domains = list(domains)
        self._clock = clock
        self._period = period(self._domains)
        self._counts: dict[str, list[int]] = {}
        self._failed: dict[str, str] = {}
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = 0.0

    def begin(self) -> None:
        """Reads all, and goes on reading."""
        self._counts = {each.name: [] for each in self._domains}
        self._failed = {}
        self._over.clear()
        self._started = self._clock()
        self.sample()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def end(self) -> Used:
        """Reads all once more, and says what was used since `begin`."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.sample()
        seconds = self._clock() - self._started
        joules: dict[str, float] = {}
        absent: dict[str, str] = {}
        for each in self._domains:
            try:
                if each.name in self._failed:
                    raise ValueError(self._failed[each.name])
                joules[each.kind] = joules.get(each.kind, 0.0) + used(each, self._counts[each.name])
            except ValueError as error:
                absent[each.kind] = f"{each.name}: {error}"
        return Used(seconds, {k: v for k, v in joules.items() if k not in absent}, absent)

    def sample(self) -> None:
        """Reads all; one that cannot be read any more is said at the end."""
        for each in self._domains:
            if each.name in self._failed:
                continue
            try:
                self._counts[each.name].append(each.read())
            except OSError as error:
                self._failed[each.name] = f"{error.strerror or error} while it was read"

    def _go_on(self) -> None:
        while not self._over.wait(self._period):
            self.sample()
