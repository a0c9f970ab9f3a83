"""Energy and processor counters, read around each run on request."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from lockwright.base import numbers
from lockwright.machine import load
from lockwright.machine.energy.domains import Sources, find
from lockwright.machine.energy.meter import EnergyUse, Meter
from lockwright.machine.perf.counters import Counting
from lockwright.machine.procfs import Tree

IDLE_SECONDS = 5.0
"""Seconds for which the idle machine's power is measured before the first run."""

FACTS = "meters"
"""Key, among a comparison's facts, of the idle power and the missing values."""

SECONDS = "energy_seconds"
"""Key of the time over which the energy of a run was measured."""

WINDOWED = "energy_windowed"
"""Key that is present if that time is exactly the measured part of the run."""

SAMPLING = 0.05
"""The longest period between readings, in seconds, where a part of a run is to be separated. In a
measurement of one second the error at its ends is then a few per cent of the difference to the
power before and after."""

TREE = Tree()
"""The machine whose counters are read."""


def joules_key(kind: str) -> str:
    """Return the key of the energy of a kind of domain, in joules, summed over the sockets."""
    return f"joules_{kind}"


@dataclass
class Reading:
    """The values read around one run, by key. meter: the energy meter, if any."""

    values: dict[str, float] = field(default_factory=dict)
    meter: Meter | None = None

    def put(self, used: EnergyUse) -> None:
        """Store an energy use."""
        self.values[SECONDS] = used.seconds
        self.values |= {joules_key(kind): joules for kind, joules in used.joules.items()}

    def narrow(self, began: float, seconds: float) -> None:
        """Limit the energy to a part of the run, in seconds by time.monotonic(). A part that is not
        within the run is ignored."""
        if self.meter is None or seconds <= 0:
            return
        used = self.meter.between(began, began + seconds)
        if used.seconds >= 0.99 * seconds:
            self.put(used)
            self.values[WINDOWED] = 1.0


@dataclass(frozen=True)
class Idle:
    """The power of the machine before the first run. others: the share of the processors that
    programs used meanwhile; None if unknown."""

    watts: Mapping[str, float]
    seconds: float
    others: float | None


class Meters:
    """Meters of the requested values. absent: the reason, by name, for each missing value."""

    def __init__(self, *, energy: bool = False, counters: bool = False) -> None:
        self.energy = energy
        self.counters = counters
        self.idle: Idle | None = None
        self.absent: dict[str, str] = {}
        self.remarks: dict[str, str] = {}
        self._sources = find(TREE) if energy else Sources()
        if counters:
            trial = Counting()
            trial.end()
            self.absent |= trial.absent
            self.remarks |= trial.remarks
        if energy and not self._sources.domains:
            self.absent["energy"] = self._sources.why()
        self.absent |= {
            f"energy of {kind}": why
            for kind, why in self._sources.absent.items()
            if self._sources.domains
        }

    @property
    def wanted(self) -> bool:
        """True if anything is requested."""
        return self.energy or self.counters

    def measure_idle(
        self, seconds: float | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Measure the power of the idle machine once, for IDLE_SECONDS, if energy can be read."""
        if self.idle is not None or not self._sources.domains:
            return
        meter = Meter(self._sources.domains)
        before = load.processor_times(TREE)
        meter.begin()
        sleep(IDLE_SECONDS if seconds is None else seconds)
        used = meter.end()
        after = load.processor_times(TREE)
        measured = load.load_between(before, after, 0.0) if before and after else None
        self._note(used)
        self.idle = Idle(used.watts(), used.seconds, None if measured is None else measured.others)

    @contextmanager
    def around(self, pid: int = 0, every: float | None = None) -> Iterator[Reading]:
        """Read around the block; the reading is complete at its end.

        pid: the parent of the program to count; 0 for the calling thread. every: the longest period
        between readings of energy in seconds; None for SAMPLING.
        """
        every = SAMPLING if every is None else every
        meter = Meter(self._sources.domains, every) if self._sources.domains else None
        reading = Reading(meter=meter)
        counting = Counting(pid) if self.counters else None
        if meter is not None:
            meter.begin()
        try:
            yield reading
        finally:
            used = meter.end() if meter is not None else None
            if used is not None:
                self._note(used)
                reading.put(used)
            if counting is not None:
                counts = counting.end()
                reading.values |= {name.replace(" ", "_"): v for name, v in counts.items()}
                self.absent |= counting.absent
                self.remarks |= counting.remarks

    def _note(self, used: EnergyUse) -> None:
        self.absent |= {f"energy of {kind}": why for kind, why in used.absent.items()}

    def as_facts(self) -> dict[str, object]:
        """Return the facts to store with the results: the idle power and the missing values."""
        facts: dict[str, object] = {}
        if self.idle is not None:
            facts["idle"] = vars(self.idle)
        if self.absent:
            facts["not measurable here"] = dict(self.absent)
        if self.remarks:
            facts["remarks"] = dict(self.remarks)
        return facts

    def notes(self) -> list[str]:
        """Return the remarks on the figures."""
        lines = []
        if self.idle is not None:
            watts = ", ".join(f"{kind} {value:.1f} W" for kind, value in self.idle.watts.items())
            line = f"Idle for {self.idle.seconds:.0f} s before the first run: {watts}."
            if self.idle.others is not None and self.idle.others > load.BUSY:
                line = (
                    f"Warning: {line[:-1]}, but other programs used "
                    f"{numbers.percent(self.idle.others)} of the processors then, so "
                    "figures above idle are too low."
                )
            lines.append(line)
        lines += [f"Not measurable here: {name} ({why})." for name, why in self.absent.items()]
        lines += [f"{name}: {remark}." for name, remark in self.remarks.items()]
        return lines


TOTAL = ("package", "dram")
"""Domains that add up to the power of a socket: the other domains overlap with them."""


def total_joules(values: Mapping[str, float]) -> float | None:
    """Return the energy of the packages and of separately counted memory; None if unknown."""
    if joules_key(TOTAL[0]) not in values:
        return None
    return sum(values.get(joules_key(kind), 0.0) for kind in TOTAL)


def total_watts(values: Mapping[str, float]) -> float | None:
    """Return the mean power of these domains over the run."""
    joules, seconds = total_joules(values), values.get(SECONDS)
    return joules / seconds if joules is not None and seconds else None


def above_idle(values: Mapping[str, float], idle: Idle | None) -> float | None:
    """Return the power of these domains minus the idle machine's; None if either is unknown."""
    watts = total_watts(values)
    if watts is None or idle is None:
        return None
    kinds = [kind for kind in TOTAL if joules_key(kind) in values]
    if any(kind not in idle.watts for kind in kinds):
        return None
    return watts - sum(idle.watts[kind] for kind in kinds)
