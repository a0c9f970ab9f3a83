"""The rounds of a race, in each of which every remaining lock runs once; each run is stored at
once."""

import random
import time
from collections.abc import Callable, Sequence

from lockwright.base.progress import Display, duration, print_line
from lockwright.compare.plan import Plan, Slot
from lockwright.compare.runner import Runner
from lockwright.compare.store import Comparison, Store
from lockwright.compare.warnings import at_threads
from lockwright.preload.families import family_of
from lockwright.preload.locks import BASELINE, Registry
from lockwright.preload.rwlocks import KEEP, parts_of
from lockwright.run.record import Record
from lockwright.tune.outcome import interim_sentence, outcome
from lockwright.tune.race import ROUNDS_UP, TIME_UP, RaceRuns, Standing

_SEED = 20
_FIRST_REPORT = 10.0
"""Seconds after which the state is first reported; then each time they have doubled."""


class Session:
    """A race at each number of threads. records: all runs, with those of earlier sessions."""

    def __init__(
        self, comparison: Comparison, store: Store, registry: Registry, runner: Runner
    ) -> None:
        self.comparison = comparison
        self._store = store
        self._runner = runner
        self._plan: Plan = comparison.plan
        self._registry = registry
        self._libraries = {lock: self._plan.path_of(lock, registry) for lock in self._plan.locks}
        self.records: list[Record] = store.records(comparison)
        self.endings: dict[int, int] = {}

    def carry_out(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Make runs for at most `seconds`, shared among the numbers of threads."""
        end = clock() + seconds
        with Display(len(self.records), len(self.records)) as display:
            for index, threads in enumerate(self._plan.threads):
                remaining = len(self._plan.threads) - index
                until = clock() + max(0.0, end - clock()) / remaining
                self.endings[threads] = self._race(threads, until, clock, display)

    def _race(
        self, threads: int, until: float, clock: Callable[[], float], display: Display
    ) -> int:
        finished = {(r.round, r.lock) for r in self.records if r.threads == threads}
        began = clock()
        next_report = began + _FIRST_REPORT
        for number in range(1, self._plan.runs + 1):
            race_runs = RaceRuns(self._plan, threads, self.records, number - 1)
            standing = race_runs.standing()
            ended = race_runs.ended(standing)
            joining = self._joining(race_runs, standing, ended)
            if ended is not None and not joining:
                return ended
            if joining:
                print_line(f"related to the leader, also trying {', '.join(joining)}")
            if number > 1 and clock() >= next_report:
                self._report_state(threads)
                next_report = clock() + (clock() - began)
            for lock in _order(self._plan, threads, number, (*standing.remaining, *joining)):
                now = RaceRuns(self._plan, threads, self.records)
                if (number, lock) in finished or now.exit(lock) is not None:
                    continue
                if clock() + now.expected(lock) > until:
                    return TIME_UP
                self._show(display, threads, number, lock, standing, until - clock())
                slot = Slot(threads, number, lock)
                limit = now.limit(lock)
                record = self._runner.measure(slot, self._libraries[lock], limit)
                self._store.add(self.comparison, record)
                self.records.append(record)
                display.advance()
        return ROUNDS_UP

    def _joining(
        self, race_runs: RaceRuns, standing: Standing, ended: int | None
    ) -> tuple[str, ...]:
        """Return the reserves that join: the best lock's family, and the best lock together with
        the best reader-writer lock, if the leader is better than the baseline, once the race of the
        others is decided or a first cut was made."""
        reserves = self._plan.reserves
        best = next((lock for lock in standing.remaining if lock != BASELINE), None)
        if best is None or not reserves or any(map(race_runs.has_entered, reserves)):
            return ()
        if self._plan.other_library(best) is not None:
            return ()
        lead = race_runs.lead(best, BASELINE)
        decided = ended is not None and (BASELINE in standing.dropped or lead.low > 0)
        if not (decided or (ended is None and race_runs.cuts() and lead.mean > 0)):
            return ()
        return self._related(standing.remaining)

    def _related(self, remaining: Sequence[str]) -> tuple[str, ...]:
        """Return the reserves that the leaders suggest. remaining: the best first."""
        own = [name for name in remaining if self._plan.other_library(name) is None]
        parts = [parts_of(name) for name in own]
        leader = next(lock for lock, rwlock in parts if (lock, rwlock) != (BASELINE, KEEP))
        family = family_of(self._registry.find(leader))
        rwlock = next((rwlock for _, rwlock in parts if rwlock != KEEP), KEEP)
        best_lock = next((lock for lock, _ in parts if lock != BASELINE), BASELINE)
        related = []
        for name in self._plan.reserves:
            its_lock, its_rwlock = parts_of(name)
            if its_rwlock != KEEP:
                joins = (its_lock, its_rwlock) == (best_lock, rwlock)
            else:
                joins = family_of(self._registry.find(its_lock)) == family
            if joins:
                related.append(name)
        return tuple(related)

    def _report_state(self, threads: int) -> None:
        """Print the result so far, since most programs are not lock-sensitive, and the user can
        then stop early."""
        interim = outcome(self._plan, self.records, threads, TIME_UP)
        if sentence := interim_sentence(self._plan, interim):
            print_line(f"so far{at_threads(threads)}: {sentence}")

    def _show(
        self,
        display: Display,
        threads: int,
        number: int,
        lock: str,
        standing: Standing,
        left: float,
    ) -> None:
        where = at_threads(threads).removeprefix(" at ")
        locks = f"{len(standing.remaining)} lock{'' if len(standing.remaining) == 1 else 's'} left"
        text = ", ".join(part for part in (where, f"round {number}", locks) if part)
        display.set_total(len(self.records) + 1)
        most = f"at most {duration(left)} left"
        display.announce(f"{text}, {lock}, {most}", f"{text}, {most}", None)


def _order(plan: Plan, threads: int, number: int, remaining: Sequence[str]) -> Sequence[str]:
    """Return the locks in the order of a round: in the first, the reference and then the locks as
    chosen, so that a good one soon bounds the time of the others; in later rounds, shuffled."""
    running = {*remaining, plan.reference, *plan.kept}
    order = [lock for lock in plan.locks if lock in running]
    if number > 1:
        random.Random(f"{_SEED} {threads} {number}").shuffle(order)
    return order
