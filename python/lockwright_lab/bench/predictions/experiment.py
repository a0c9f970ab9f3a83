"""The experiment that compares predicted locks and changes with those measured here."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.runner import VALUE, Runner
from lockwright.experiment import (
    FINISHED,
    LEFT_OUT,
    TIMEOUT,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment.model import Slot
from lockwright.experiment.report import Report
from lockwright.experiment.rules import Rounds, shuffled
from lockwright.preload.locks import registry
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.run import Cell as SimulatedCell

from lockwright_lab.bench.predictions import agreement, tables
from lockwright_lab.bench.predictions.agreement import AGAIN
from lockwright_lab.bench.predictions.first import Folder, Predicted, from_facts
from lockwright_lab.bench.predictions.subjects import Case, Subject
from lockwright_lab.bench.real_program import RealProgram, real_program

CHANGES, RUNS = "changes", "runs"
"""The parts: programs before and after a change, and programs under locks."""

RATE = Figure("rate", "1/s", definition="the throughput, or the inverse of the time.")

_ROUNDS_OF_CHANGES = 2
"""Rounds of the changes for each run of a lock: they are few, and a tenth is to be shown."""


@dataclass(frozen=True)
class Plan:
    """What is predicted and measured. locks: of each of `subjects`, BASELINE first; profiled: the
    forms with a profile, by name."""

    subjects: Sequence[Subject]
    locks: Sequence[Sequence[str]]
    cases: Sequence[Case]
    profiled: Mapping[str, Subject]

    @property
    def of_changes(self) -> list[Subject]:
        """The forms of the changes that are not among the subjects."""
        known = {each.cell for each in self.subjects}
        forms = [form for case in self.cases for form in (case.before, case.after)]
        return list({each.cell: each for each in forms if each.cell not in known}.values())

    def simulated(self, name: str) -> list[SimulatedCell]:
        """Return the cells of a subject that are predicted."""
        return [
            SimulatedCell(lock, each.threads)
            for each, locks in zip(self.subjects, self.locks, strict=True)
            if each.name == name
            for lock in locks
        ]


@dataclass
class Parts(Rounds):
    """The rule by which each cell has its own contenders and rounds; a lock that was ended at its
    limit, or that failed, runs once. of_cell: names of contenders, and the number of rounds; ends:
    the time after which no run begins."""

    of_cell: Mapping[str, tuple[Sequence[str], int]] = field(default_factory=dict)
    ends: float | None = None

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        names, rounds = self.of_cell.get(cell, ((), 0))
        return shuffled(names, cell, number) if number <= rounds else ()

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        made = runs.of(slot.cell, slot.contender)
        return not self.is_late and all(run.ended == FINISHED for run in made)

    @property
    def is_late(self) -> bool:
        """True if no further run begins."""
        return self.ends is not None and time.monotonic() > self.ends


@dataclass(frozen=True)
class Lengths:
    """rounds: of each lock; seconds: of a run, about; timeout: of a run in seconds; minutes: time
    after which no run begins."""

    rounds: int
    seconds: float
    timeout: float
    minutes: float | None


def prepare(plan: Plan, folder: Folder, *, predicts: bool) -> None:
    """Make the missing profiles, and the predictions if `predicts`; print what cannot be made."""
    if predicts:
        problems = predict_all(plan, folder).problems
    else:
        problems = folder.profiled(list(plan.profiled.values()))
    for line in problems:
        print_line(line)


def predict_all(plan: Plan, folder: Folder) -> Predicted:
    """Make the missing profiles and predictions, for this machine, and return these."""
    problems = folder.profiled(list(plan.profiled.values()))
    found = Predicted([], {}, problems)
    machine = load_machine(HERE, 30.0)
    # Those with the fewest simulations first.
    for name, subject in reversed(list(plan.profiled.items())):
        if not folder.profile(name).exists():
            continue
        cases = [case for case in plan.cases if case.before.name == name]
        try:
            rates, gains = folder.predicted(subject, machine, plan.simulated(name), cases)
        except LockwrightError as error:
            problems.append(f"{name}: {error.what}")
            continue
        found.rates.extend((*key, rate) for key, rate in rates.items())
        found.gains.update(gains)
    return found


@dataclass
class _Installed:
    """The program of the cell that is under way, with its files and inputs, which are removed at
    the next one."""

    folder: Folder
    timeout: float
    cell: str = ""
    stack: ExitStack = field(default_factory=ExitStack)
    program: RealProgram | None = None
    runner: Runner | None = None

    @contextmanager
    def closed_at_end(self) -> Iterator[None]:
        """Remove the files of the last program at the end."""
        try:
            yield
        finally:
            self.stack.close()

    def run(self, subject: Subject, lock: str) -> Outcome:
        """Make a run."""
        if self.cell != subject.cell:
            self.stack.close()
            self.stack, self.cell = ExitStack(), subject.cell
            self.program = self.stack.enter_context(
                real_program(subject.program, subject.threads, subject.scale, self.folder.places)
            )
            plan = self.program.plan((BASELINE,), 1, self.timeout)
            self.runner = self.stack.enter_context(
                Runner(plan, self.program.file, environment=self.program.environment)
            )
        assert self.program is not None
        assert self.runner is not None
        made = self.runner.measure(UNSPECIFIED, lock, registry().path_of(lock))
        value = made.figures.get(VALUE)
        if made.ended == TIMEOUT:
            return replace(made, wall=self.timeout, figures={})
        if not value:
            ended = "failed" if made.ended == FINISHED else made.ended
            return replace(made, ended=ended, figures={}, note=made.note or "no figure")
        is_time = self.program.lower_is_better or self.program.metric is None
        return replace(made, figures={RATE.name: 1 / value if is_time else value})


def validation(
    plan: Plan, folder: Folder, parts: Collection[str], lengths: Lengths, worst: int
) -> Experiment:
    """Return the experiment, whose cells are programs with a number of threads. parts: CHANGES and
    RUNS, or one of them; the report includes those of earlier commands. worst: number of the ratios
    that are shown with the largest errors."""
    rounds, minutes, timeout = lengths.rounds, lengths.minutes, lengths.timeout
    forms = {each.cell: each for each in (*plan.of_changes, *plan.subjects)}
    changed = [each.cell for each in plan.of_changes]
    of_parts: dict[str, dict[str, tuple[Sequence[str], int]]] = {
        CHANGES: dict.fromkeys(changed, ((BASELINE,), _ROUNDS_OF_CHANGES * rounds)),
        RUNS: {
            each.cell: ((*locks, *(AGAIN if len(locks) > 1 else ())), rounds)
            for each, locks in zip(plan.subjects, plan.locks, strict=True)
        },
    }
    of_cell = {cell: each for name in parts for cell, each in of_parts[name].items()}
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    rule = Parts(RATE.name, _ROUNDS_OF_CHANGES * rounds, of_cell=of_cell, ends=ends)
    installed = _Installed(folder, timeout)
    known: dict[str, Any] = {}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        subject = forms[cell.name]
        if subject.name not in from_facts(known).subjects and cell.name in of_parts[RUNS]:
            return Outcome(LEFT_OUT)
        return installed.run(subject, contender.subject)

    locks = dict.fromkeys(lock for each in plan.locks for lock in each)
    return Experiment(
        "predict",
        [
            Cell(name, {"program": each.name, "threads": each.threads})
            for name, each in forms.items()
        ],
        [
            *(Contender(lock, subject=lock) for lock in locks),
            *(Contender(name, subject=BASELINE) for name in AGAIN),
        ],
        [RATE],
        run,
        rule.last,
        reference=BASELINE,
        settings={"seconds": lengths.seconds, "timeout": timeout, "locks": list(plan.locks)},
        tables=[TableOf([], rows=lambda _: False)],
        rule=rule,
        around=installed.closed_at_end,
        unfinished=lambda: len(parts) < len(of_parts) or rule.is_late,
        first=lambda: vars(predict_all(plan, folder)),
        known=known,
        help="lockwright bench predict --help",
        report=lambda usual: _report(usual, plan, from_facts(known), worst),
    )


def _report(usual: Report, plan: Plan, predicted: Predicted, worst: int) -> Report:
    rates, runs = predicted.by_key, usual.runs
    found = [
        each
        for subject, locks in zip(plan.subjects, plan.locks, strict=True)
        if (each := agreement.cell(subject, locks, runs, rates))
    ]
    changed = [
        one for case in plan.cases if (one := agreement.changed(case, runs, predicted.gains))
    ]
    grids = [tables.cells_table(found)] if found else []
    grids += [tables.worst_table(found, worst)] if found and worst else []
    grids += [tables.changes_table(changed)] if changed else []
    lines = [*predicted.problems, *tables.sentences(found, changed)]
    lines.append("Every program was predicted before the first of its runs.")
    return replace(usual, grids=grids, legend=(), remarks=[*lines, *usual.remarks])
