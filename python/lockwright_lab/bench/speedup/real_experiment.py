"""The experiment of `lockwright bench what-if --real`: real programs before and after a change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockwright.experiment import LEFT_OUT, Cell, Contender, Experiment, Outcome, TableOf
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Report, text_grid
from lockwright.run.process_runner import ProcessRunner

from lockwright_lab.bench.program_runs import SPEED, ProgramRuns
from lockwright_lab.bench.speedup.experiment import Compared, change_name, with_interval
from lockwright_lab.bench.speedup.real_programs import Change, Prober
from lockwright_lab.bench.speedup.subjects import known_experiments
from lockwright_lab.bench.validation import agreement, tables

BEFORE, AFTER = "before", "after"
FACTOR, GOAL = 1.25, 0.7
"""The largest error of a gain that will do, and the share of the changes that should have none."""

COLUMNS = [
    term("change", "the program and its option, from one value to another."),
    term("assumed", "by how much shorter the sections are, by profiles of both; or no waits."),
    term("measured", "the speed after the change, divided by that before."),
    term("experiment", "the gain by what-if --measure on the program before the change."),
    term("error", "the experiment's gain divided by the measured one, less 1."),
]


@dataclass(frozen=True)
class Lengths:
    """Rounds of both forms, and about how many seconds a run takes."""

    rounds: int
    seconds: float = 2.5

    def minutes(self, count: int) -> float:
        """Return about how long so many changes take, with profiles and experiments."""
        return count * self.seconds * (4 * self.rounds + 1 + 6) / 60


def experiment(chosen: Sequence[Change], lengths: Lengths, cache: Path, folder: Path) -> Experiment:
    """Return the experiment. cache: of inputs; folder: of profiles and the experiments' results."""
    by_key = {each.key: each for each in chosen}
    known: dict[str, Any] = {}
    processes = ProcessRunner()
    runs = ProgramRuns(processes, cache)
    prober = Prober(runs, folder, lengths.rounds)

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        change = by_key[cell.name]
        if change.key not in known_experiments(known).of:
            return Outcome(LEFT_OUT, note="no experiment was possible")
        side = [BEFORE, AFTER].index(contender.name)
        return runs.run(change.programs[side], change.threads)

    @contextmanager
    def around() -> Iterator[None]:
        with processes:
            yield

    return Experiment(
        "what-if-real",
        [Cell(each.key, {"threads": each.threads}) for each in chosen],
        [Contender(BEFORE), Contender(AFTER)],
        [SPEED],
        run,
        lengths.rounds,
        reference=BEFORE,
        tables=[TableOf([], rows=lambda _: False)],
        cell_by_cell=True,
        around=around,
        first=lambda: prober.found(chosen),
        known=known,
        what="form",
        help="lockwright bench what-if --help",
        report=lambda usual: _report(usual, known),
    )


def compared(usual: Report, known: Mapping[str, Any]) -> list[Compared]:
    """Return the changes that were measured and experimented with."""
    of = known_experiments(known).of
    found = []
    for rows in usual.cells:
        key = rows[0].of_cell.name
        measured = rows[1].paired(SPEED.name, SPEED.lower_is_better)
        if measured is not None and key in of:
            found.append(Compared(key, of[key][0], measured))
    return found


def sentences(changes: Sequence[Compared]) -> list[str]:
    """Return the share of the changes that agree, with its goal, and that of 'nothing changes'."""
    if not changes:
        return []

    def is_within(error: float | None) -> bool:
        return error is not None and 1 / FACTOR <= 1 + error <= FACTOR

    near = agreement.share([is_within(each.error) for each in changes])
    nothing = [is_within(1 / each.measured.value - 1) for each in changes]
    programs = {each.subject.partition(",")[0] for each in changes}
    what = f"Of {len(changes)} changes of {len(programs)} programs, experiments within {FACTOR:g}"
    return [
        tables.goal(f"{what} times", near, GOAL, tables.percent),
        "Intervals that have the measured gain:"
        f" {tables.percent_of([each.is_covered for each in changes])};"
        f" 'nothing changes' within {FACTOR:g} times: {tables.percent_of(nothing)}.",
    ]


def _report(usual: Report, known: Mapping[str, Any]) -> Report:
    changes = compared(usual, known)
    lines = [
        [
            each.subject,
            change_name(each.found.share),
            with_interval(each.measured.value, each.measured.low, each.measured.high),
            with_interval(each.found.gain, each.found.gain_low, each.found.gain_high),
            "-" if each.error is None else f"{100 * each.error:+.0f} %",
        ]
        for each in changes
    ]
    grid = text_grid("Gains of changes in real programs", headings(COLUMNS), lines)
    problems = known_experiments(known).problems
    return replace(
        usual,
        grids=[grid] if changes else [],
        legend=(),
        remarks=[*sentences(changes), *usual.remarks],
        failures=[*problems, *usual.failures],
        more={
            "changes": [
                {"change": each.subject, **vars(each.found), "measured": each.measured.value}
                for each in changes
            ]
        },
    )
