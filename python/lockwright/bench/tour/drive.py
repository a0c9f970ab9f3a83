"""The runs of a tour, round after round until its time is used up."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from lockwright.base import terminal
from lockwright.base.progress import duration, print_line
from lockwright.bench.cases import Case
from lockwright.bench.report import Report, watching_others
from lockwright.bench.rounds import Pace, RoundResults, run_rounds
from lockwright.bench.tour.tour_plan import Plan
from lockwright.run.bench_program import Outcome, Subject


class Clock:
    """The time of a tour. A round begins only if it fits into the remaining time."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock. seconds: how long the tour may take."""
        self._clock = clock
        self._began = clock()
        self._seconds = seconds
        self._rounds: list[float] = []

    @property
    def spent(self) -> float:
        """The seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        return max(0.0, self._seconds - self.spent)

    def rounds(self, first: int) -> Iterator[int]:
        """Yield rounds from `first` on, until the next one would exceed the remaining time."""
        round_number = first
        while self.left > (sum(self._rounds) / len(self._rounds) if self._rounds else 0.0):
            begun = self.spent
            yield round_number
            self._rounds.append(self.spent - begun)
            round_number += 1


def drive(
    report: Report,
    plan: Plan,
    subjects: dict[str, Subject],
    pace: Pace,
    results: RoundResults,
    clock: Clock,
    keep: Callable[[Case, int, Outcome], None],
) -> None:
    """Run the cases of the plan until the time is used up, and add them to `results` and `report`.

    keep: called with each run. Rounds that an earlier session left incomplete are completed first.
    """
    cases = plan.cases()
    first = _first_incomplete(cases, results)
    with watching_others(report), _display(clock) as display:

        def before(one: Case, round_number: int) -> bool:
            display(f"round {round_number + 1}, {one.workload} {one.lock}", round_number)
            return clock.left > 0

        rounds = clock.rounds(first)
        run_rounds(report, cases, subjects, pace, results, rounds, before=before, after=keep)


def _first_incomplete(cases: list[Case], results: RoundResults) -> int:
    """Return the first round in which a case that can end in time has not been run."""
    made = {round_number for outcomes in results.outcomes.values() for round_number in outcomes}
    for round_number in sorted(made):
        if not all(
            round_number in results.outcomes.get(one, {}) or results.gave_up(one) for one in cases
        ):
            return round_number
    return len(made)


@contextmanager
def _display(clock: Clock) -> Iterator[Callable[[str, int], None]]:
    """Show the current run and the remaining time: on a terminal continuously, elsewhere a line for
    each round."""
    console = terminal.errors()
    if not console.is_terminal:
        printed: set[int] = set()

        def ignore_text(_text: str, round_number: int) -> None:
            if round_number not in printed:
                printed.add(round_number)
                print_line(f"round {round_number + 1}, about {duration(clock.left)} left")

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
