"""The experiment that compares predicted locks and changes with those measured here."""

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.numbers import ratio
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.experiment import (
    LEFT_OUT,
    TIMEOUT,
    Cell,
    Contender,
    Experiment,
    Outcome,
    Run,
    Runs,
    TableOf,
)
from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Grid, Report, text_grid
from lockwright.simulate.run import Cell as SimulatedCell

from lockwright_lab.bench.installed import RATE, Installed
from lockwright_lab.bench.parts import Parts
from lockwright_lab.bench.validation import agreement, tables
from lockwright_lab.bench.validation.agreement import BASELINE, Agreement, Measured, Metric
from lockwright_lab.bench.validation.first import Folder, Predicted, from_facts
from lockwright_lab.bench.validation.subjects import Case, Subject

CHANGES, RUNS = "changes", "runs"
"""The parts: programs before and after a change, and programs under locks."""

AGAIN = (f"{BASELINE} again", f"{BASELINE} once more")
"""Further contenders: the baseline, to which all are compared, runs three times in a round."""

RATIO, CHANGE = 0.2, 0.1
"""Largest deviation of a predicted ratio to pthread, and of a predicted change, that agrees."""

METRIC = Metric(0.05, lambda quotient: abs(quotient - 1) <= RATIO)

GOAL_ORDER, GOAL_RATIOS, GOAL_CHANGES = 0.85, 0.8, 0.8

_ROUNDS_OF_CHANGES = 2
"""Rounds of the changes for each run of a lock: they are few, and a tenth is to be shown."""

CELLS = [
    term("program", "a program of the catalogue, profiled with 2 threads under pthread."),
    term("shown", "pairs of locks that the runs show to differ, and all pairs."),
    term("in order", "the share of the shown pairs that are in the predicted order."),
    term("ratios", f"the share of the ratios to pthread within {100 * RATIO:.0f} %, and all."),
    term("halves", "the same of the even rounds in the prediction's place, against the odd ones."),
]

CHANGED = [
    term("change", "the program, and what an option of it changes."),
    term("measured", "throughput after it divided by that before."),
    term("predicted", "the same, predicted."),
    term("error", "predicted over measured, less 1."),
]


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


@dataclass(frozen=True)
class Lengths:
    """rounds: of each lock; seconds: of a run, about; timeout: of a run in seconds; budget: time
    after which no run begins."""

    rounds: int
    seconds: float
    timeout: float
    budget: float | None


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


def validation(plan: Plan, folder: Folder, parts: Collection[str], lengths: Lengths) -> Experiment:
    """Return the experiment, whose cells are programs with a number of threads. parts: CHANGES and
    RUNS, or one of them; the report includes those of earlier commands."""
    rounds, timeout = lengths.rounds, lengths.timeout
    forms = {each.cell: each for each in (*plan.of_changes, *plan.subjects)}
    of_parts: dict[str, dict[str, dict[str, int]]] = {
        CHANGES: {each.cell: {BASELINE: _ROUNDS_OF_CHANGES * rounds} for each in plan.of_changes},
        RUNS: {
            each.cell: dict.fromkeys((*locks, *(AGAIN if len(locks) > 1 else ())), rounds)
            for each, locks in zip(plan.subjects, plan.locks, strict=True)
        },
    }
    rule = Parts(
        RATE.name,
        _ROUNDS_OF_CHANGES * rounds,
        rounds={cell: each for name in parts for cell, each in of_parts[name].items()},
        repeats_failed=False,
    )
    rule.end_after(lengths.budget)
    installed = Installed(folder.places, timeout)
    known: dict[str, Any] = {}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        subject = forms[cell.name]
        if subject.name not in from_facts(known).subjects and cell.name in of_parts[RUNS]:
            return Outcome(LEFT_OUT)
        return installed.run(
            subject.cell, contender.subject, subject.program, subject.threads, subject.scale
        )

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
        report=lambda usual: _report(usual, plan, from_facts(known)),
    )


def _runs_of(runs: Runs, subject: Subject, lock: str, half: int | None = None) -> list[Run]:
    """Return the runs that did not fail, those that were ended at their limit among them. half: of
    every second round, from the first (0) or the second (1)."""
    names = [lock, *(AGAIN if lock == BASELINE else ())]
    made = [run for name in names for run in runs.of(subject.cell, name)]
    return [
        run
        for run in made
        if (run.ended == TIMEOUT or RATE.name in run.figures)
        and half in (None, (run.round - 1) % 2)
    ]


def measured(
    runs: Runs, subject: Subject, locks: Sequence[str], half: int | None = None
) -> dict[str, Measured]:
    """Return the rates of the locks; a run that was ended has at most that of so much work in its
    longer time. half: as of `_runs_of`."""
    works = [
        run.figures[RATE.name] * run.wall
        for run in _runs_of(runs, subject, BASELINE)
        if RATE.name in run.figures
    ]
    found = {}
    for lock in locks if works else ():
        made = _runs_of(runs, subject, lock, half)
        if ended := [run for run in made if run.ended == TIMEOUT]:
            found[lock] = Measured([statistics.median(works) / ended[0].wall], is_bound=True)
        elif made:
            found[lock] = Measured([run.figures[RATE.name] for run in made])
    return found


def agreed(
    plan: Plan, runs: Runs, predicted: Mapping[tuple[str, int, str], float]
) -> tuple[Agreement, Agreement]:
    """Return the agreement of the predictions, and that of the even rounds, with the odd ones, of
    the locks whose runs ended."""
    of_predictions: list[agreement.Cell | None] = []
    of_halves: list[agreement.Cell | None] = []
    for subject, locks in zip(plan.subjects, plan.locks, strict=True):
        keys = {lock: (subject.name, subject.threads, lock) for lock in locks}
        rates = {lock: predicted[key] for lock, key in keys.items() if key in predicted}
        if not rates.get(BASELINE):
            continue
        halves = [measured(runs, subject, list(rates), half) for half in (0, 1)]
        ended = {lock: each.median for lock, each in halves[0].items() if not each.is_bound}
        all_rounds = measured(runs, subject, list(rates))
        for found, of, expected in (
            (of_predictions, all_rounds, rates),
            (of_halves, halves[1], ended),
        ):
            found.append(agreement.cell(subject.name, subject.threads, of, expected, METRIC))
    return Agreement.of(of_predictions), Agreement.of(of_halves)


@dataclass(frozen=True)
class Changed:
    """A change, measured and predicted: the throughput after it divided by that before. again: that
    of one half of the rounds, divided by that of the other."""

    case: Case
    measured: float
    predicted: float
    again: float | None = None

    @property
    def agrees(self) -> bool:
        return abs(self.predicted / self.measured - 1) <= CHANGE


def changed(case: Case, runs: Runs, predicted: Mapping[str, float]) -> Changed | None:
    """Return the agreement for a change; None if it was not measured or not predicted."""

    def gain(half: int | None = None) -> float | None:
        rates = [
            [each.figures[RATE.name] for each in made if RATE.name in each.figures]
            for made in (_runs_of(runs, form, BASELINE, half) for form in (case.before, case.after))
        ]
        return statistics.median(rates[1]) / statistics.median(rates[0]) if all(rates) else None

    whole, first, second = gain(), gain(0), gain(1)
    if whole is None or case.name not in predicted:
        return None
    again = first / second if first and second else None
    return Changed(case, whole, predicted[case.name], again)


def _changes_table(changes: Sequence[Changed]) -> Grid:
    lines = [
        [
            each.case.name,
            ratio(each.measured),
            ratio(each.predicted),
            f"{100 * (each.predicted / each.measured - 1):+.0f} %",
        ]
        for each in changes
    ]
    return text_grid("Predicted against measured changes", headings(CHANGED), lines)


def sentences(found: Agreement, halves: Agreement, changes: Sequence[Changed]) -> list[str]:
    """Return the figures of the validation, each with its goal."""
    lines = []

    def add(what: str, near: Sequence[bool], goal: float, again: Sequence[bool]) -> None:
        lines.append(
            tables.goal(f"Of {len(near)} {what}", agreement.share(near), goal, tables.percent)
        )
        if again:
            share = tables.percent_of(again)
            lines.append(f"  for comparison, one half of the rounds against the other: {share}")

    if found.cells:
        what = f"Of {found.shown} pairs shown to differ, in order"
        lines.append(tables.goal(what, found.in_order, GOAL_ORDER, tables.percent))
        add(f"ratios to pthread, within {100 * RATIO:.0f} %", found.near, GOAL_RATIOS, halves.near)
    if changes:
        again = [abs(each.again - 1) <= CHANGE for each in changes if each.again is not None]
        of_all = [each.agrees for each in changes]
        add(f"changes, within {100 * CHANGE:.0f} %", of_all, GOAL_CHANGES, again)
        for kind in dict.fromkeys(each.case.kind for each in changes):
            of_kind = [each.agrees for each in changes if each.case.kind == kind]
            lines.append(f"  of the changes of {kind}: {tables.percent_of(of_kind)}")
    return lines


def _report(usual: Report, plan: Plan, predicted: Predicted) -> Report:
    found, halves = agreed(plan, usual.runs, predicted.by_key)
    of_cases = (changed(case, usual.runs, predicted.gains) for case in plan.cases)
    changes = [each for each in of_cases if each is not None]
    title = "Predicted against measured locks"

    def order(part: Agreement) -> str:
        return tables.percent(part.in_order)

    grids = [tables.by_subject(title, CELLS, found, halves, order)] if found.cells else []
    grids += [_changes_table(changes)] if changes else []
    lines = [*predicted.problems, *sentences(found, halves, changes)]
    lines.append("Every program was predicted before the first of its runs.")
    return replace(usual, grids=grids, legend=(), remarks=[*lines, *usual.remarks])
