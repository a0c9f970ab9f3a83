"""The analysis of a data set: its tables in reading order, and the answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE

from lockwright_lab.study import answers, cells, cross_tables, metric_tables
from lockwright_lab.study.answers import Answer
from lockwright_lab.study.cells import Cells
from lockwright_lab.study.dataset import DataSet, Sample
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.result_table import Table
from lockwright_lab.study.rules import Margin, Rule, Shown
from lockwright_lab.study.schema import METRICS

USUAL_METRICS = ("throughput", "tpp")
"""Metrics that are analysed by default."""


@dataclass(frozen=True)
class Choices:
    """The options of an analysis. metrics: empty for USUAL_METRICS. rule: None for one that fits
    the data. counts: see MachineMetric.counts."""

    metrics: tuple[str, ...] = ()
    rule: Rule | None = None
    counts: tuple[int, ...] = ()
    baseline: str = BASELINE


@dataclass(frozen=True)
class Analysis:
    """The result of an analysis. notes: remarks about the data. rules: the meaning of `better` for
    each machine and metric. answers: to the questions of the papers. parts: one for each machine
    and metric."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    answers: tuple[Answer, ...]
    rules: tuple[tuple[str, str], ...]
    parts: tuple[MachineMetric, ...] = ()


def analyse(data: DataSet, choices: Choices | None = None) -> Analysis:
    """Return every analysis of the published study (TOCS 2019) that the data allow. Raises
    LockwrightError for a bad choice."""
    choices = choices or Choices()
    notes = list(data.notes)
    parts = list(_parts(data, choices, notes))
    _check(data, parts, choices)
    tables = [table for part in parts for table in metric_tables.tables_of_part(part)]
    for part in parts:
        tables += metric_tables.ratio_tables(part, choices.baseline)
    for machine in data.machines:
        parts_of_machine = [part for part in parts if part.sample.machine == machine]
        tables += cross_tables.energy_tables(data, machine, parts_of_machine)
        tables += cross_tables.latency_tables(data, machine, choices.baseline, notes)
    tables += cross_tables.order_changes(parts)
    for number, frame in enumerate(data.validations()):
        tables += cross_tables.validation_table(data, frame, number, choices.rule or Margin())
    if not tables:
        raise LockwrightError("the data hold nothing to compare", "give runs of several locks")
    rules = tuple((part.sample.title, part.rule.meaning) for part in parts)
    answered = [answer for part in parts for answer in answers.answers(part)]
    for table in tables:
        machine, _, kind = table.name.rpartition(".")
        if kind == "pcc":
            answered += answers.energy_answers(machine, table.frame.pcc)
        elif kind == "latency-growth":
            at_max = (t.frame for t in tables if t.name == f"{machine}.latency-max")
            answered += answers.latency_answers(machine, table.frame, next(at_max, pd.DataFrame()))
    return Analysis(
        tuple(tables), tuple(dict.fromkeys(notes)), tuple(answered), rules, tuple(parts)
    )


def _check(data: DataSet, parts: Sequence[MachineMetric], choices: Choices) -> None:
    """Check the choices. Raises LockwrightError for counts or a baseline without runs."""
    counts = {count for part in parts for count in part.cells.mean.index.get_level_values(1)}
    for count in choices.counts:
        if count not in counts:
            known = ", ".join(map(str, sorted(counts)))
            raise LockwrightError(f"there are no runs at {count}", f"choose from {known}")
    locks = {lock for source in data.sources for lock in source.frame.lock}
    if choices.baseline != BASELINE and choices.baseline not in locks:
        raise LockwrightError(
            f"no run has the lock '{choices.baseline}'",
            f"choose from {', '.join(sorted(locks))}",
        )


def _parts(data: DataSet, choices: Choices, notes: list[str]) -> Iterator[MachineMetric]:
    usual = [m for m in data.metrics if m in USUAL_METRICS or m not in METRICS]
    # Data with only a time or a latency are analysed by that.
    metrics = choices.metrics or usual or data.metrics
    for metric in metrics:
        if metric not in data.metrics:
            raise LockwrightError(
                f"the data have no metric '{metric}'", f"choose from {', '.join(data.metrics)}"
            )
    for machine in data.machines:
        for metric in metrics:
            sample = data.sample(machine, metric)
            if sample is None:
                continue
            all_cells = cells.condense(sample)
            if len(all_cells.locks) < 2:
                notes.append(f"{sample.title}: a single lock, nothing to compare")
                continue
            rule = _rule(sample, all_cells, choices.rule, notes)
            part = MachineMetric(sample, rule, all_cells, choices.counts)
            if not part.effect.sensitive.any():
                notes.append(f"{sample.title}: no application is shown to be lock-sensitive")
            yield part


def _rule(sample: Sample, all_cells: Cells, chosen: Rule | None, notes: list[str]) -> Rule:
    """Return the chosen rule, or the best that the repetitions of the data allow."""
    ran = all_cells.mean.notna()
    number = int(ran.sum().sum())
    single = number - int((all_cells.degrees.notna() & ran).sum().sum())
    if isinstance(chosen, Margin):
        return chosen
    if single > number / 2:
        what = (
            f"{sample.title}: {numbers.percent(single / number)} of the configurations have a "
            "single figure"
        )
        if chosen is not None:
            raise LockwrightError(
                f"{what}, which shows no spread", "use --tolerance 5%, or give every run"
            )
        notes.append(f"{what}, so the 5 % rule is used")
        return Margin()
    if single:
        notes.append(
            f"{sample.title}: {single} of {number} configurations have a single run, of which"
            " nothing can be shown"
        )
    return chosen or Shown()
