"""The statistics of one run, by name."""

from pathlib import Path

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.experiment import Outcome
from lockwright.machine.meters import WINDOWED, total_joules

from lockwright_lab.bench.runs import Value, field, operations


class Statistic(Table, frozen=True, kw_only=True):
    """A figure of a run. heading: with its unit; value: as of `runs.field`; option: that of the
    required meter; energy: it needs energy counters, and is the number of operations per joule.
    lower: is better."""

    heading: str
    definition: str
    value: str = ""
    lower: bool = True
    option: str = ""
    energy: bool = False

    @property
    def of(self) -> Value:
        """The function of a run that returns the figure; None if the run has none."""
        return _per_joule if self.energy else field(self.value)


def _per_joule(made: Outcome) -> float | None:
    meters = made.details.get("meters") or {}
    joules = total_joules(meters)
    count = operations(made.details["lines"], measured=WINDOWED in meters)
    return count / joules if joules and count else None


STATISTICS = documents.load(dict[str, Statistic], Path(__file__).with_name("statistics.toml"))
