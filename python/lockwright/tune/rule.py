"""The rule of a race: in each round every remaining lock runs once, until one of these ends it."""

import time
from collections.abc import Callable, Sequence

from lockwright.base.progress import duration, print_line
from lockwright.compare.arms import lock_of, number_of_settings, settings_of
from lockwright.compare.plan import Plan, at_threads, cell_name
from lockwright.compare.runner import VALUE
from lockwright.experiment import Runs
from lockwright.experiment.model import Slot
from lockwright.experiment.rules import Rounds, shuffled
from lockwright.preload.locks import BASELINE
from lockwright.preload.rwlocks import KEEP, parts_of
from lockwright.run.settings import Settings
from lockwright.tune.outcome import interim_sentence, outcome
from lockwright.tune.race import ROUNDS_UP, TIME_UP, RaceRuns, Standing
from lockwright.tune.search import Search, View

_FIRST_REPORT = 10.0
"""Seconds after which the state is first reported; then each time they have doubled."""


class Race(Rounds):
    """The rule of a race at each number of threads, which share the time. endings: why each race
    has ended, by the number of threads."""

    def __init__(
        self,
        plan: Plan,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        search: Search | None = None,
    ) -> None:
        """Begin. seconds: for all runs; search: that chooses the locks, None if all take part."""
        super().__init__(VALUE, plan.runs)
        self._plan = plan
        self._search = search
        self._clock = clock
        self._end = clock() + seconds
        self._threads = {cell_name(threads): threads for threads in plan.threads}
        self._until: dict[str, float] = {}
        self._began = self._next_report = 0.0
        self._left = 0
        self.endings: dict[int, int] = {}

    @property
    def is_open(self) -> bool:
        return True

    def needs_results(self, number: int) -> bool:
        return True

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        threads = self._threads[cell]
        self._begin(cell)
        if self.endings[threads] == TIME_UP:
            return ()
        race_runs = RaceRuns(self._plan, threads, runs, number - 1)
        view = self._view(threads, runs, number - 1)
        searched = () if self._search is None else self._search.locks
        standing = race_runs.standing(searched, view.finalists)
        ended = None if view.picks else race_runs.ended(standing)
        joining = () if view.picks else self._joining(race_runs, standing, ended)
        if ended is not None and not joining:
            self.endings[threads] = ended
            return ()
        if joining:
            print_line(f"with what leads, also trying {', '.join(joining)}")
        if number > 1 and self._clock() >= self._next_report:
            self._report_state(threads, runs)
            self._next_report = 2 * self._clock() - self._began
        remaining = standing.remaining
        if view.picks:
            remaining = (*(lock for lock in remaining if lock not in searched), *view.picks)
        self._left = len(remaining)
        return self._order(cell, number, (*remaining, *joining))

    def _view(self, threads: int, runs: Runs, rounds: int) -> View:
        if self._search is None:
            return View((), ())
        return self._search.view(self._plan, threads, runs, rounds)

    def _begin(self, cell: str) -> None:
        """Give a race its share of the time when it begins."""
        if cell not in self._until:
            races, now = len(self._threads) - len(self._until), self._clock()
            self._until[cell] = now + max(0.0, self._end - now) / races
            self._began, self._next_report = now, now + _FIRST_REPORT
            self.endings[self._threads[cell]] = ROUNDS_UP

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        threads = self._threads[slot.cell]
        if self.endings[threads] == TIME_UP:
            return False
        now = RaceRuns(self._plan, threads, runs)
        if now.exit(slot.contender) is not None:
            return False
        if self._clock() + now.expected(slot.contender) > self._until[slot.cell]:
            self.endings[threads] = TIME_UP
            return False
        return True

    def limit(self, cell: str, lock: str, runs: Runs) -> float:
        """Return the seconds that the next run of a lock may take."""
        return RaceRuns(self._plan, self._threads[cell], runs).limit(lock)

    def state(self, slot: Slot, runs: Runs) -> Sequence[str]:
        locks = f"{self._left} lock{'' if self._left == 1 else 's'} left"
        return locks, f"at most {duration(self._until[slot.cell] - self._clock())} left"

    def _order(self, cell: str, number: int, remaining: Sequence[str]) -> Sequence[str]:
        """Return the locks in the order of a round: in the first, the reference and then the locks
        as chosen, so that a good one soon bounds the time of the others; later, shuffled."""
        running = {*remaining, self._plan.reference, *self._plan.kept}
        order = [lock for lock in self._plan.locks if lock in running]
        return order if number == 1 else shuffled(order, cell, number)

    def _joining(
        self, race_runs: RaceRuns, standing: Standing, ended: int | None
    ) -> tuple[str, ...]:
        """Return the reserves that join: the best lock together with the best reader-writer lock or
        setting, if the leader is better than the baseline, once the race of the others is decided,
        a first cut was made or the search has ended."""
        searched = () if self._search is None else self._search.locks
        reserves = [lock for lock in self._plan.reserves if lock not in searched]
        best = next((lock for lock in standing.remaining if lock != BASELINE), None)
        if best is None or not reserves or any(map(race_runs.has_entered, reserves)):
            return ()
        if self._plan.other_library(best) is not None:
            return ()
        lead = race_runs.lead(best, BASELINE)
        decided = ended is not None and (BASELINE in standing.dropped or lead.low > 0)
        is_late = self._search is not None or race_runs.cuts()
        if not (decided or (ended is None and is_late and lead.mean > 0)):
            return ()
        return (*self._related(standing.remaining), *self._combined(race_runs))

    def _related(self, remaining: Sequence[str]) -> tuple[str, ...]:
        """Return the reserves that the leaders suggest. remaining: the best first."""
        own = [
            name
            for name in remaining
            if self._plan.other_library(name) is None and not number_of_settings(name)
        ]
        parts = [parts_of(name) for name in own]
        rwlock = next((rwlock for _, rwlock in parts if rwlock != KEEP), KEEP)
        if rwlock == KEEP:
            return ()
        # While threads wait for the other reader-writer locks, a mutex can be worth nothing. Once
        # all have dropped out, the first reserve's stands for them.
        own_lock = next((lock for lock, _ in parts if lock != BASELINE), None)
        pairs = [
            name
            for name in self._plan.reserves
            if not number_of_settings(name)
            and parts_of(name)[1] == rwlock
            and own_lock in (None, parts_of(name)[0])
        ]
        return tuple(pairs[:1])

    def _combined(self, race_runs: RaceRuns) -> list[str]:
        """Return the reserves with settings that join: the best lock with the best setting, also if
        one of these was dropped because the other is better; without a lock that is better than the
        baseline, the baseline with that setting and others."""
        leads = {
            name: race_runs.lead(name, BASELINE).mean
            for name in self._plan.locks
            if race_runs.has_entered(name)
            and race_runs.exit(name) is None
            and self._plan.other_library(name) is None
        }
        better = sorted((name for name in leads if leads[name] > 0), key=leads.__getitem__)
        setting = next((settings_of(n) for n in reversed(better) if number_of_settings(n)), None)
        lock = next((name for name in reversed(better) if not number_of_settings(name)), BASELINE)
        return [
            name
            for name in self._plan.reserves
            if number_of_settings(name) and lock_of(name) == lock and _includes(name, setting)
        ]

    def _report_state(self, threads: int, runs: Runs) -> None:
        """Print the result so far, since most programs are not lock-sensitive, and the user can
        then stop early."""
        interim = outcome(self._plan, runs, threads, TIME_UP, self._search)
        if sentence := interim_sentence(self._plan, interim):
            print_line(f"so far{at_threads(threads)}: {sentence}")


def _includes(name: str, settings: Settings | None) -> bool:
    """Return whether a name has these settings, and perhaps others."""
    return settings is not None and settings.values.items() <= settings_of(name).values.items()
