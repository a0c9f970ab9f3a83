"""Makes the runs of a tour, round after round until the time is over."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from lockwright.base import terminal
from lockwright.base.progress import duration, print_line
from lockwright.bench.cases import Case
from lockwright.bench.report import Report, watching_others
from lockwright.bench.rounds import Pace, Seen, run_rounds
from lockwright.bench.tour.tour_plan import Plan
from lockwright.run.bench_program import Outcome, Subject


class Clock:
    """The time of a tour. A round begins only if it fits into what is left."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """seconds: how long the tour may take."""
        self._clock = clock
        self._began = clock()
        self._seconds = seconds
        self._rounds: list[float] = []

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self._seconds - self.spent)

    def turns(self, first: int) -> Iterator[int]:
        """Rounds from `first` on, until the next one would take longer than what is left."""
        turn = first
        while self.left > (sum(self._rounds) / len(self._rounds) if self._rounds else 0.0):
            begun = self.spent
            yield turn
            self._rounds.append(self.spent - begun)
            turn += 1


def drive(
    report: Report,
    plan: Plan,
    subjects: dict[str, Subject],
    pace: Pace,
    seen: Seen,
    clock: Clock,
    keep: Callable[[Case, int, Outcome], None],
) -> None:
    """Runs the cases of the plan until the time is over, and adds them to `seen` and `report`.

    keep: called with each run. Rounds that an earlier session left incomplete are completed first.
    """
    cases = plan.cases()
    first = _first_incomplete(cases, seen)
    with watching_others(report), _display(clock) as display:

        def before(one: Case, turn: int) -> bool:
            display(f"round {turn + 1}, {one.workload} {one.lock}", turn)
            return clock.left > 0

        turns = clock.turns(first)
        run_rounds(report, cases, subjects, pace, seen, turns, before=before, after=keep)


def _first_incomplete(cases: list[Case], seen: Seen) -> int:
    """The first round in which a case that can end in time has not been run."""
    made = {turn for outcomes in seen.outcomes.values() for turn in outcomes}
    for turn in sorted(made):
        if not all(turn in seen.outcomes.get(one, {}) or seen.gave_up(one) for one in cases):
            return turn
    return len(made)


@contextmanager
def _display(clock: Clock) -> Iterator[Callable[[str, int], None]]:
    """Shows what is being run and how much time is left: on a terminal all the time, elsewhere a
    line for each round.
    """
    console = terminal.errors()
    if not console.is_terminal:
        told: set[int] = set()

        def ignore_text(_text: str, turn: int) -> None:
            if turn not in told:
                told.add(turn)
                print_line(f"round {turn + 1}, about {duration(clock.left)} left")

        yield ignore_text
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("about {task.fields[left]} left"),
        console=console,
        transient=True,
        # Each refresh takes processor time from what is measured.
        refresh_per_second=1,
    )
    with bar:
        task = bar.add_task("", total=clock.left + clock.spent, left=duration(clock.left))

        def show(text: str, _turn: int) -> None:
            bar.update(task, description=text, completed=clock.spent, left=duration(clock.left))

        yield show
