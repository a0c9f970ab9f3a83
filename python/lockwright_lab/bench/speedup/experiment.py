"""The experiment of `lockwright bench what-if`: programs with really shorter sections."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockwright.base import numbers
from lockwright.base.numbers import ratio
from lockwright.experiment import (
    LEFT_OUT,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Report, text_grid
from lockwright.experiment.rules import Rounds, shuffled
from lockwright.speedup.windows import NO_WAITS, READERS, name
from lockwright.stats.inference import Ratio, independent_ratio

from lockwright_lab.bench.speedup.subjects import (
    SHARES,
    Found,
    Subject,
    experiments,
    known_experiments,
)
from lockwright_lab.bench.validation import agreement, tables

RATE = Figure("rate", "1/s", definition="sections of the program in a second.")

NEAR, WIDE = 0.1, 0.05
"""The largest error of a gain, and half width of a measured one, that will do."""

GOAL_NEAR, GOAL_COVERED = 0.8, 0.9

AS_IT_IS = "as it is"

COLUMNS = [
    term(
        "change",
        "by how much shorter the sections are; a mutex for each thread: no waits; a reader-writer"
        " lock: readers together.",
    ),
    term("measured", "the rate of the changed program, divided by that of the unchanged one."),
    term("experiment", "the gain by what-if --measure on the unchanged program, before."),
    term("simulated", "the gain that what-if predicts from its profile."),
    term("error", "the experiment's gain divided by the measured one, less 1."),
]


@dataclass(frozen=True)
class Compared:
    """A change by experiments and as measured."""

    subject: str
    found: Found
    measured: Ratio

    @property
    def error(self) -> float | None:
        return None if self.found.gain is None else self.found.gain / self.measured.value - 1

    @property
    def is_near(self) -> bool:
        return self.error is not None and abs(self.error) <= NEAR

    @property
    def is_simulated_near(self) -> bool:
        value = self.found.simulated
        return value is not None and abs(value / self.measured.value - 1) <= NEAR

    @property
    def is_covered(self) -> bool:
        """Whether the experiment's interval has the measured gain."""
        low, high = self.found.gain_low, self.found.gain_high
        return low is not None and high is not None and low <= self.measured.value <= high


def change_name(shorter: int) -> str:
    """Return the name of a change. shorter: per cent, 0, NO_WAITS or READERS."""
    return name(shorter).removeprefix("sections ").removesuffix(" for it") if shorter else AS_IT_IS


def _measured(runs: Runs, cell: str, shorter: int) -> Ratio | None:
    after, before = (
        [
            run.figures[RATE.name]
            for run in runs.of(cell, change_name(each))
            if RATE.name in run.figures
        ]
        for each in (shorter, 0)
    )
    return independent_ratio(after, before, lower_is_better=False)


def _is_possible(runs: Runs, cell: str, shorter: int) -> bool:
    return all(run.ended != LEFT_OUT for run in runs.of(cell, change_name(shorter)))


def _is_wide(found: Ratio | None) -> bool:
    if found is None or found.low is None or found.high is None:
        return True
    return found.high / found.low > (1 + WIDE) ** 2


@dataclass
class UntilNarrow(Rounds):
    """All forms run in the first rounds, then while the interval of a gain is too wide."""

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        wide = [
            share
            for share in SHARES
            if change_name(share) in contenders
            and _is_wide(_measured(runs, cell, share))
            and _is_possible(runs, cell, share)
        ]
        names = [change_name(share) for share in (0, *wide)] if wide else []
        return shuffled(contenders if number <= self.least else names, cell, number)

    def wanted(self, slot: object, runs: Runs) -> bool:
        return True


@dataclass(frozen=True)
class Lengths:
    """rounds, most: runs of each form, and at most; seconds: of each; experiments: seconds of a run
    with experiments."""

    rounds: int
    most: int
    seconds: float
    experiments: float

    def minutes(self, cells: int) -> float:
        """Return about how long so many cells take."""
        runs = (self.rounds + self.most) / 2 * (len(SHARES) + 1)
        return cells * (self.experiments + 4 + runs * (self.seconds + 0.1)) / 60


def experiment(subjects: Sequence[Subject], lengths: Lengths, folder: Path) -> Experiment:
    """Return the experiment. folder: of the profiles and the experiments' results."""
    by_name = {each.name: each for each in subjects}
    shares = {change_name(share): share for share in (0, *SHARES)}
    known: dict[str, Any] = {}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        return by_name[cell.name].measured(shares[contender.name], lengths.seconds)

    return Experiment(
        "what-if",
        [Cell(name, {"program": of.shape, "threads": of.threads}) for name, of in by_name.items()],
        [Contender(name) for name in shares],
        [RATE],
        run,
        lengths.rounds,
        reference=AS_IT_IS,
        settings={"seconds": lengths.seconds, "experiments": lengths.experiments},
        tables=[TableOf([], rows=lambda _: False)],
        rule=UntilNarrow(RATE.name, lengths.rounds, max(lengths.most, lengths.rounds)),
        cell_by_cell=True,
        first=lambda: experiments(subjects, lengths.experiments, folder),
        known=known,
        help="lockwright bench what-if --help",
        report=lambda usual: _report(usual, known),
    )


def compared(runs: Runs, of: Mapping[str, Sequence[Found]]) -> list[Compared]:
    """Return all changes that were measured."""
    return [
        Compared(name, found, measured)
        for name, rows in of.items()
        for found in rows
        if (measured := _measured(runs, name, found.share)) is not None
    ]


def sentences(changes: Sequence[Compared]) -> list[str]:
    """Return the shares of the changes that agree, each with its goal."""
    if not changes:
        return []
    near = f"Of {len(changes)} changes, experiments within {100 * NEAR:.0f} %"
    value = agreement.share([each.is_near for each in changes])
    lines = [tables.goal(near, value, GOAL_NEAR, tables.percent)]
    for other in (NO_WAITS, READERS):
        part = [each.is_near for each in changes if each.found.share == other]
        lines += [f"  of those of {change_name(other)}: {tables.percent_of(part)}"] if part else []
    lengths = dict.fromkeys(each.subject.rpartition("length ")[2] for each in changes)
    for length in lengths if len(lengths) > 1 else ():
        part = [each.is_near for each in changes if each.subject.endswith(f"length {length}")]
        lines.append(f"  of those of length {length}: {tables.percent_of(part)}")
    covered = agreement.share([each.is_covered for each in changes])
    lines.append(
        tables.goal("Intervals that have the measured gain", covered, GOAL_COVERED, tables.percent)
    )
    simulated = [each.is_simulated_near for each in changes if each.found.simulated is not None]
    nothing = [abs(1 / each.measured.value - 1) <= NEAR for each in changes]
    lines += [
        f"For comparison, simulated within {100 * NEAR:.0f} %: {tables.percent_of(simulated)};"
        f" 'nothing changes': {tables.percent_of(nothing)}.",
        "The delays made the runs with experiments longer by"
        f" {numbers.percent(statistics.median(each.found.overhead for each in changes))} in the"
        f" median, {numbers.percent(max(each.found.overhead for each in changes))} at most.",
    ]
    return lines


def _report(usual: Report, known: Mapping[str, Any]) -> Report:
    found = known_experiments(known)
    changes = compared(usual.runs, found.of)
    lines = [
        [
            each.subject,
            change_name(each.found.share),
            with_interval(each.measured.value, each.measured.low, each.measured.high),
            with_interval(each.found.gain, each.found.gain_low, each.found.gain_high),
            "-" if each.found.simulated is None else ratio(each.found.simulated),
            "-" if each.error is None else f"{100 * each.error:+.0f} %",
        ]
        for each in changes
    ]
    grid = text_grid("Gains of changes", ["program", *headings(COLUMNS)], lines)
    remarks = [*found.problems, *sentences(changes), *usual.remarks]
    return replace(usual, grids=[grid] if changes else [], legend=(), remarks=remarks)


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a ratio with its interval; `-` for none."""
    return "-" if value is None else f"{ratio(value)} ({numbers.interval(low, high)})"
