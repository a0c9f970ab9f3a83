"""Runs cases side by side: every round runs each once, in an order shuffled for the round."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.bench.cases import Case, timing
from lockwright.bench.report import Report
from lockwright.compare import stats
from lockwright.run.bench_program import Outcome, Subject, run

_TO_END = 5.0
"""Seconds that a run may take beside its warm-up and its measurement before it is killed. Threads
that hand a lock on to others that do not run can take long to end; what is measured is told before
they are asked to."""


@dataclass
class Seen:
    """The runs that gave something, by case and round; and how often a case was killed."""

    outcomes: dict[Case, dict[int, Outcome]] = field(default_factory=lambda: defaultdict(dict))
    timed_out: dict[Case, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, one: Case, turn: int, outcome: Outcome) -> None:
        """Keeps a run. One that was killed counts for what it had said by then."""
        self.timed_out[one] += outcome.timed_out
        if outcome.timed_out or not outcome.failure:
            self.outcomes[one][turn] = outcome

    def over_rounds(self, one: Case, value: Callable[[Outcome], float | None]) -> dict[int, float]:
        """A figure of each round that has it."""
        found = {turn: value(outcome) for turn, outcome in self.outcomes.get(one, {}).items()}
        return {turn: figure for turn, figure in found.items() if figure is not None}

    def gave_up(self, one: Case) -> bool:
        """Whether the case was killed so often that it is not run again."""
        return self.timed_out[one] >= stats.GIVE_UP


@dataclass(frozen=True)
class Pace:
    """How long a run measures, and what every run is given."""

    seconds: float
    warm_up: float
    loops_per_us: float

    def options(self, one: Case) -> dict[str, object]:
        """All options of the measuring program for a case; its own count for more."""
        common = timing(one.workload, self.seconds, self.warm_up)
        return {**common, "loops-per-us": self.loops_per_us, **dict(one.options)}

    @property
    def limit(self) -> float:
        """Seconds after which a run is killed."""
        return self.seconds + self.warm_up + _TO_END


def order(cases: Sequence[Case], turn: int) -> list[Case]:
    """The order of a round: another one in each, the same whenever it is asked for."""
    shuffled = list(cases)
    random.Random(f"round {turn}").shuffle(shuffled)
    return shuffled


def run_rounds(
    report: Report,
    cases: Sequence[Case],
    subjects: Mapping[str, Subject],
    pace: Pace,
    seen: Seen,
    turns: Iterable[int],
    *,
    before: Callable[[Case, int], bool] = lambda _one, _turn: True,
    after: Callable[[Case, int, Outcome], None] = lambda _one, _turn, _outcome: None,
) -> None:
    """Runs every case in each of the rounds `turns`, and adds to `seen` and `report`.

    subjects: by the names of the locks. before: called before each run, ends all if it says no.
    after: called with each run. What is in `seen` already is not run again.
    """
    for turn in turns:
        for one in order(cases, turn):
            if not before(one, turn):
                return
            if seen.gave_up(one) or turn in seen.outcomes.get(one, {}):
                continue
            outcome = run(
                subjects[one.lock],
                one.workload,
                pace.options(one),
                timeout=pace.limit,
                environment=dict(one.environment),
            )
            labels: dict[str, object] = {"workload": one.workload, **dict(one.options)}
            report.record(subjects[one.lock], turn, outcome, **labels, **dict(one.environment))
            seen.add(one, turn, outcome)
            after(one, turn, outcome)
