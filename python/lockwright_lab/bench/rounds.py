"""Rounds of runs: every round runs each case once, in an order shuffled for the round."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.calibrate.report import Report
from lockwright.experiment.declaration import GIVE_UP
from lockwright.run.bench_program import Outcome, Subject, run

from lockwright_lab.bench.cases import Case, timing

_TO_END = 5.0
"""Seconds after its warm-up and measurement at which a run is killed. Threads that hand a lock over
to preempted waiters can end late; the measurement is printed before that."""


@dataclass
class RoundResults:
    """The runs with figures by case and round, and the number of killed runs by case."""

    outcomes: dict[Case, dict[int, Outcome]] = field(default_factory=lambda: defaultdict(dict))
    timed_out: dict[Case, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, case: Case, round_number: int, outcome: Outcome) -> None:
        """Store a run. A killed run counts with the figures that it has printed."""
        self.timed_out[case] += outcome.timed_out
        if outcome.timed_out or not outcome.failure:
            self.outcomes[case][round_number] = outcome

    def over_rounds(self, case: Case, value: Callable[[Outcome], float | None]) -> dict[int, float]:
        """Return a figure by round, for the rounds that have it."""
        return {
            round_number: figure
            for round_number, outcome in self.outcomes.get(case, {}).items()
            if (figure := value(outcome)) is not None
        }

    def gave_up(self, case: Case) -> bool:
        """Return True if the case was killed so often that it is not run again."""
        return self.timed_out[case] >= GIVE_UP


@dataclass(frozen=True)
class RunLengths:
    """The times and options of every run."""

    seconds: float
    warm_up: float
    loops_per_us: float

    def options(self, case: Case) -> dict[str, object]:
        """Return all options of a case; its own take precedence."""
        common = timing(case.workload, self.seconds, self.warm_up)
        return {**common, "loops-per-us": self.loops_per_us, **dict(case.options)}

    @property
    def limit(self) -> float:
        """Seconds after which a run is killed."""
        return self.seconds + self.warm_up + _TO_END


def order(cases: Sequence[Case], round_number: int) -> list[Case]:
    """Return the order of a round, which is a function of the round's number."""
    shuffled = list(cases)
    random.Random(f"round {round_number}").shuffle(shuffled)
    return shuffled


def run_rounds(
    report: Report,
    cases: Sequence[Case],
    subjects: Mapping[str, Subject],
    lengths: RunLengths,
    results: RoundResults,
    rounds: Iterable[int],
    *,
    before: Callable[[Case, int], bool] = lambda _case, _round: True,
    after: Callable[[Case, int, Outcome], None] = lambda _case, _round, _outcome: None,
) -> None:
    """Run every case in each round, and add the runs to `results` and `report`.

    subjects: by the names of the locks. before: called before each run; the rounds end if it
    returns False. after: called with each run. Runs in `results` are not repeated.
    """
    for round_number in rounds:
        for case in order(cases, round_number):
            if not before(case, round_number):
                return
            if results.gave_up(case) or round_number in results.outcomes.get(case, {}):
                continue
            subject, variables = subjects[case.lock], dict(case.environment)
            outcome = run(
                subject,
                case.workload,
                lengths.options(case),
                timeout=lengths.limit,
                environment=variables,
            )
            labels: dict[str, object] = {"workload": case.workload, **dict(case.options)}
            report.record(subject, round_number, outcome, **labels, **variables)
            results.add(case, round_number, outcome)
            after(case, round_number, outcome)
