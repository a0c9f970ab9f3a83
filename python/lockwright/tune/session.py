"""Carries a race out: rounds in which every lock that is left runs once, each run kept at once."""

import random
import time
from collections.abc import Callable, Sequence

from lockwright.base.progress import Display, duration, print_line
from lockwright.compare.plan import Plan, Slot
from lockwright.compare.runner import Runner
from lockwright.compare.store import Comparison, Store
from lockwright.compare.warnings import at
from lockwright.preload.locks import BASELINE, Registry
from lockwright.run.record import Record
from lockwright.tune.candidates import family
from lockwright.tune.outcome import outcome, so_far
from lockwright.tune.race import ROUNDS_UP, TIME_UP, Field, State

_SEED = 20
_FIRST_NEWS = 10.0
"""Seconds of a race after which its standing is told; then each time twice as many have gone."""


class Session:
    """A race at each number of threads. records: all runs, those of earlier sittings included."""

    def __init__(
        self, comparison: Comparison, store: Store, registry: Registry, runner: Runner
    ) -> None:
        """The runner is used until the session is over."""
        self.comparison = comparison
        self._store = store
        self._runner = runner
        self._plan: Plan = comparison.plan
        self._registry = registry
        self._libraries = {each: self._plan.path_of(each, registry) for each in self._plan.locks}
        self.records: list[Record] = store.records(comparison)
        self.endings: dict[int, int] = {}

    def carry_out(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Makes runs for so many seconds at most; each number of threads gets its share of them."""
        end = clock() + seconds
        with Display(len(self.records), len(self.records)) as display:
            for place, threads in enumerate(self._plan.threads):
                remaining = len(self._plan.threads) - place
                until = clock() + max(0.0, end - clock()) / remaining
                self.endings[threads] = self._race(threads, until, clock, display)

    def _race(
        self, threads: int, until: float, clock: Callable[[], float], display: Display
    ) -> int:
        made = {(r.round, r.lock) for r in self.records if r.threads == threads}
        began = clock()
        news = began + _FIRST_NEWS
        for number in range(1, self._plan.runs + 1):
            field = Field(self._plan, threads, self.records, number - 1)
            state = field.state()
            ended = field.ended(state)
            joining = self._joining(field, state, ended)
            if ended is not None and not joining:
                return ended
            if joining:
                print_line(f"of the leading family, also trying {', '.join(joining)}")
            if number > 1 and clock() >= news:
                self._tell(threads)
                news = clock() + (clock() - began)
            for lock in _order(self._plan, threads, number, (*state.left, *joining)):
                now = Field(self._plan, threads, self.records)
                if (number, lock) in made or now.exit(lock) is not None:
                    continue
                if clock() + now.expected(lock) > until:
                    return TIME_UP
                self._show(display, threads, number, lock, state, until - clock())
                slot = Slot(threads, number, lock)
                limit = now.limit(lock)
                record = self._runner.measure(slot, self._libraries[lock], limit)
                self._store.add(self.comparison, record)
                self.records.append(record)
                display.done()
        return ROUNDS_UP

    def _joining(self, field: Field, state: State, ended: int | None) -> tuple[str, ...]:
        """The reserves that join: those of the family of the best lock, if that is better than the
        baseline, once the others are decided or the first are set aside for want of time."""
        reserves = self._plan.reserves
        best = next((lock for lock in state.left if lock != BASELINE), None)
        if best is None or not reserves or any(map(field.has_entered, reserves)):
            return ()
        if self._plan.other_library(best) is not None:
            return ()
        lead = field.lead(best, BASELINE)
        decided = ended is not None and (BASELINE in state.out or lead.low > 0)
        if not (decided or (ended is None and field.cuts() and lead.mean > 0)):
            return ()
        like = family(self._registry.find(best))
        return tuple(lock for lock in reserves if family(self._registry.find(lock)) == like)

    def _tell(self, threads: int) -> None:
        """Says what is known by now: most programs are not lock-sensitive, and whoever waits should
        see early that there is little to gain."""
        found = so_far(self._plan, outcome(self._plan, self.records, threads, TIME_UP))
        if found:
            print_line(f"so far{at(threads)}: {found}")

    def _show(
        self, display: Display, threads: int, number: int, lock: str, state: State, left: float
    ) -> None:
        where = at(threads).removeprefix(" at ")
        locks = f"{len(state.left)} lock{'' if len(state.left) == 1 else 's'} left"
        line = ", ".join(part for part in (where, f"round {number}", locks) if part)
        display.grow(len(self.records) + 1)
        display.next(f"{line}, {lock}, at most {duration(left)}", line, None)


def _order(plan: Plan, threads: int, number: int, left: Sequence[str]) -> Sequence[str]:
    """The locks of a round. The first has the baseline first, then the locks as they were chosen,
    so that a good one soon bounds the time of the others; the rest are shuffled."""
    running = set(left) | {BASELINE}
    order = [lock for lock in plan.locks if lock in running]
    if number > 1:
        random.Random(f"{_SEED} {threads} {number}").shuffle(order)
    return order
