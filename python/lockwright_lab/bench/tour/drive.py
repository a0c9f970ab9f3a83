"""The runs of a tour, by rounds, until its time is used up."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lockwright.base import terminal
from lockwright.base.progress import duration, print_line
from lockwright.calibrate.report import Report, watching_others
from lockwright.run.bench_program import Outcome, Subject
from rich.progress import BarColumn, Progress, TextColumn

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.rounds import RoundResults, RunLengths, run_rounds
from lockwright_lab.bench.tour.tour_plan import Plan


class Clock:
    """The time of a tour. A round begins only if it fits into the remaining time."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock. seconds: time of the tour."""
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
        """Yield rounds from `first`, until the next one would exceed the remaining time."""
        round_number = first
        while self.left > (sum(self._rounds) / len(self._rounds) if self._rounds else 0.0):
            start = self.spent
            yield round_number
            self._rounds.append(self.spent - start)
            round_number += 1


def drive(
    report: Report,
    plan: Plan,
    subjects: dict[str, Subject],
    lengths: RunLengths,
    results: RoundResults,
    clock: Clock,
    store: Callable[[Case, int, Outcome], None],
) -> None:
    """Run the cases of the plan until the time is used up, and add them to `results` and `report`.

    store: called with each run. Incomplete rounds of an earlier session are completed first.
    """
    cases = plan.cases()
    first = _first_incomplete(cases, results)
    with watching_others(report), _display(clock) as display:

        def before(case: Case, round_number: int) -> bool:
            display(f"round {round_number + 1}, {case.workload} {case.lock}", round_number)
            return clock.left > 0

        rounds = clock.rounds(first)
        run_rounds(report, cases, subjects, lengths, results, rounds, before=before, after=store)


def _first_incomplete(cases: list[Case], results: RoundResults) -> int:
    """Return the first round without a run of a case that is not given up."""
    rounds = {round_number for outcomes in results.outcomes.values() for round_number in outcomes}
    for round_number in sorted(rounds):
        for case in cases:
            if round_number not in results.outcomes.get(case, {}) and not results.gave_up(case):
                return round_number
    return len(rounds)


@contextmanager
def _display(clock: Clock) -> Iterator[Callable[[str, int], None]]:
    """Show the current run and the remaining time, or a line per round if stderr is no terminal."""
    console = terminal.errors()
    if not console.is_terminal:
        printed: set[int] = set()

        def print_round(_text: str, round_number: int) -> None:
            if round_number not in printed:
                printed.add(round_number)
                print_line(f"round {round_number + 1}, about {duration(clock.left)} left")

        yield print_round
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("about {task.fields[left]} left"),
        console=console,
        transient=True,
        # A refresh takes processor time from the measured run.
        refresh_per_second=1,
    )
    with bar:
        task = bar.add_task("", total=clock.left + clock.spent, left=duration(clock.left))

        def show(text: str, _round: int) -> None:
            bar.update(task, description=text, completed=clock.spent, left=duration(clock.left))

        yield show
