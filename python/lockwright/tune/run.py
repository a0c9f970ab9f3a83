"""A race that is carried out in a given time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lockwright.compare.experiment import declare
from lockwright.compare.plan import UNSPECIFIED, Plan
from lockwright.compare.preparation import Prepared
from lockwright.compare.runner import Runner
from lockwright.experiment import Cell, Contender, Outcome, Runs
from lockwright.experiment.report import Report
from lockwright.experiment.session import Session
from lockwright.experiment.store import Store, Stored
from lockwright.machine.meters import Meters
from lockwright.tune import report
from lockwright.tune.rule import Race
from lockwright.tune.search import Search


@dataclass
class RaceRun:
    """A race that is carried out. variables: of single contenders, by name; search:
    that chooses the locks, None if all take part."""

    prepared: Prepared
    store: Store
    stored: Stored
    plan: Plan
    runs: Runs
    meters: Meters | None = None
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    rule: Race | None = None
    search: Search | None = None

    def carry_out(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Make runs for at most these seconds."""
        known = self.prepared.registry
        rule = self.rule = Race(self.plan, seconds, clock, self.search)
        libraries = {lock: self.plan.path_of(lock, known) for lock in self.plan.locks}
        settings = self.prepared.with_locks(own_locks(self.plan)).settings
        settings |= self.variables
        with Runner(self.plan, self.prepared.program, settings, self.meters) as runner:

            def make(cell: Cell, contender: Contender, _: int) -> Outcome:
                lock, threads = contender.name, cell.options["threads"] or UNSPECIFIED
                limit = rule.limit(cell.name, lock, self.runs)
                return runner.measure(threads, lock, libraries[lock], limit)

            experiment = declare(self.plan, make, meters=self.meters, rule=rule)
            Session(experiment, self.store, self.stored, self.runs).carry_out()

    def report(self, title: str) -> Report:
        """Return the report on the runs so far."""
        endings = {} if self.rule is None else self.rule.endings
        return report.make_report(
            self.stored, self.plan, title, self.runs, endings, self.meters, self.search
        )


def own_locks(plan: Plan) -> tuple[str, ...]:
    """Return the locks of a plan without other libraries."""
    return tuple(lock for lock in plan.locks if plan.other_library(lock) is None)
