"""Probes of lockwright-calibrate, run in rounds, and the figures of this machine that they gave."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display
from lockwright.run.bench_program import LIBC, Subject, run
from lockwright.stats.spread import Spread, spread

_LIBC = Subject(LIBC)


@dataclass(frozen=True)
class Probe:
    """A run of a workload. figures: the field of its result for the name of each figure, in ns."""

    workload: str
    options: Mapping[str, object]
    figures: Mapping[str, str]
    subject: Subject = _LIBC


def fields(*names: str) -> dict[str, str]:
    """Return figures that are in the field of their name with `_ns`."""
    return {name: f"{name}_ns" for name in names}


@dataclass
class Measured:
    """The values of all rounds by the name of the figure. others: for each run the share of all
    processors that other processes used, None if unknown."""

    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    others: list[float | None] = field(default_factory=list)

    def spread(self, name: str) -> Spread:
        """Return the median and the quartiles. Raises LockwrightError if nothing was measured."""
        figure = spread(self.values.get(name, []))
        if figure is None:
            raise LockwrightError(
                f"the machine could not be measured: no run has the figure '{name}'",
                "try it again on a machine that is not busy",
            )
        return figure

    def __getitem__(self, name: str) -> float:
        """Return the median."""
        return self.spread(name).median

    def __contains__(self, name: str) -> bool:
        return name in self.values

    @property
    def busy(self) -> float | None:
        """The mean share of the processors that other processes used."""
        known = [share for share in self.others if share is not None]
        return statistics.fmean(known) if known else None


def measure(probes: Sequence[Probe], rounds: int, timeout: float) -> Measured:
    """Run every probe in each round, with progress. timeout: seconds of a run. Raises
    LockwrightError if a run fails."""
    measured = Measured()
    with Display(rounds * len(probes), 0) as display:
        for each in list(probes) * rounds:
            display.announce(each.workload, "", None)
            made = run(each.subject, each.workload, each.options, timeout=timeout)
            display.advance()
            measured.others.append(made.others)
            line = made.line("result")
            if line is None or made.failure:
                raise LockwrightError(
                    f"'{each.workload}' could not be measured: {made.failure or 'no result'}",
                    "try it again, with a longer --timeout",
                )
            for name, key in each.figures.items():
                if isinstance(value := line.get(key), int | float):
                    measured.values[name].append(float(value))
    return measured
