"""The declaration of a grid: which locks run under which loads, and its report."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from lockwright.base.errors import LockwrightError
from lockwright.experiment import (
    FAILED,
    TIMEOUT,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment.report import Report, failures
from lockwright.experiment.rules import KeepUp
from lockwright.preload.locks import BASELINE
from lockwright.simulate import machine as machines

from lockwright_lab.bench import runs
from lockwright_lab.bench.regret import contenders, grid, native, simulated, tables
from lockwright_lab.bench.regret.contenders import Contest
from lockwright_lab.bench.regret.grid import Load
from lockwright_lab.bench.regret.verdict import Summary, Verdict, judge, summarise

FAR_BEHIND = 0.5
"""A lock that has less than this share of the best lock's rate in each of the first two rounds is
not run in that cell again."""

FIGURES = [
    Figure("rate", "1/s", definition="acquisitions per second."),
    Figure("longest", "s", lower_is_better=True, definition="the longest wait of a thread."),
    Figure("processors", "", lower_is_better=True, definition="processor time per second."),
]


class Machine(Protocol):
    """A machine, real or simulated, on which contenders run."""

    def prepared(self, loads: Sequence[Load]) -> AbstractContextManager[None]:
        """Return the context of all runs."""

    def run(self, load: Load, contender: Contender, round_number: int) -> Outcome:
        """Make a run."""


def regret(
    *,
    lock: str,
    against: str | None,
    quick: bool,
    cells: str | None,
    runs_of_each: int,
    seconds: float,
    warm_up: float,
    timeout: float | None,
    longest_wait: float,
    ablate: bool,
    machine: str | None,
) -> Experiment:
    """Return the experiment. machine: the simulated one, None for this one; longest_wait: the bound
    on waits in milliseconds. Raises LockwrightError for unknown names, and if no cell is left."""
    of_rwlocks = contenders.is_rwlock(lock)
    make = contenders.rwlock_contest if of_rwlocks else contenders.contest
    contest = make(lock, against, quick=quick, ablate=ablate)
    model = None if machine is None else machines.load(machine)
    processors = runs.processors() if model is None else model.processors
    mutex_grid = grid.quick_grid if quick else grid.grid
    chosen = grid.choose((grid.rwlock_grid if of_rwlocks else mutex_grid)(processors), cells)
    loads, remarks = (native if model is None else simulated).possible(chosen)
    if not loads:
        raise LockwrightError("none of these cells can be run", "choose others with --cells")
    known: dict[str, Any] = {}
    on: Machine = native.Native(seconds, warm_up, timeout, known)
    where = f"{processors} processors"
    if model is not None:
        on = simulated.Simulated(model, seconds, timeout)
        where += f" of {model.title}, simulated"
        remarks = ["Every figure is of a simulated machine. None was measured.", *remarks]
    heading = (
        f"{lock} against {len(contest.others)} locks on {where}; {runs_of_each} runs of "
        f"{seconds:g} s in each cell; bound on waits {longest_wait:g} ms"
    )
    by_name = {each.name: each for each in loads}

    def report(usual: Report) -> Report:
        return _report(usual, contest, loads, longest_wait, [heading, *remarks], model is not None)

    return Experiment(
        "regret",
        [Cell(each.name, _options(each)) for each in loads],
        contest.all,
        FIGURES,
        lambda cell, contender, number: on.run(by_name[cell.name], contender, number),
        runs_of_each,
        reference=BASELINE,
        settings={
            "machine": machine,
            "seconds": seconds,
            "warm-up": warm_up,
            "timeout": timeout,
            "longest-wait": longest_wait,
        },
        tables=[TableOf([], rows=lambda _: False)],
        rule=_rule(contest, loads, runs_of_each, longest_wait),
        give_up_on=frozenset({TIMEOUT, FAILED}),
        at_once=1 if model is None else len(os.sched_getaffinity(0)),
        around=lambda: on.prepared(loads),
        first=runs.calibration if model is None else dict,
        known=known,
        help="lockwright bench regret --help",
        report=report,
    )


def _options(load: Load) -> Mapping[str, object]:
    return {"cell": load.name, "load": load.row, "threads": load.threads}


def _rule(contest: Contest, loads: Sequence[Load], rounds: int, bound_ms: float) -> KeepUp:
    """Return the rule by which locks far behind are dropped. The lock under test, with and without
    its mechanisms, and the baseline run in all rounds."""
    own = contest.own.name
    return KeepUp(
        "rate",
        rounds,
        share=FAR_BEHIND,
        always={own, contest.others[0].name, *(each.name for each in contest.ablated.values())},
        ranked={own, *(each.name for each in contest.others)},
        limits={each.name: ("longest", each.longest_wait(bound_ms)) for each in loads},
    )


def _report(
    usual: Report,
    contest: Contest,
    loads: Sequence[Load],
    bound_ms: float,
    remarks: Sequence[str],
    is_simulated: bool,
) -> Report:
    """Return the report with the map and the summary."""
    lock = contest.own.name
    title = f"Regret of {lock}, simulated" if is_simulated else f"Regret of {lock}"
    judged = (judge(each, contest, usual.runs, bound_ms) for each in loads)
    verdicts = [each for each in judged if each is not None]
    summary = summarise(verdicts)
    grids = [
        tables.map_grid(title, verdicts),
        tables.lost_grid(verdicts),
        tables.ablation_grid(verdicts, lock),
    ]
    # That another lock does not survive a load is a result, shown by its absence there.
    failed = failures(Runs(run for run in usual.runs if run.contender == lock))
    return replace(
        usual,
        title=title,
        failures=failed,
        warnings=[*usual.warnings, *(each for each in usual.failures if each not in failed)],
        grids=[each for each in grids if each is not None],
        page_grids=[tables.details_grid("All cells", verdicts)],
        legend=[(each.heading, each.definition) for each in tables.COLUMNS],
        remarks=[
            *remarks,
            *tables.sentences(summary, lock),
            tables.others_sentence(_summaries_of_others(contest, loads, usual.runs, bound_ms)),
            *_unbounded(verdicts),
        ],
        more=tables.as_document(verdicts, summary, lock, simulated=is_simulated),
        csv_lines=[tables.as_row(each, lock, simulated=is_simulated) for each in verdicts],
    )


def _summaries_of_others(
    contest: Contest, loads: Sequence[Load], runs: Runs, bound_ms: float
) -> dict[str, Summary]:
    """Return the summary of each other lock if it were the one under test."""
    summaries = {}
    for own in contest.others:
        others = tuple(each for each in (contest.own, *contest.others) if each != own)
        judged = (judge(each, Contest(own, others), runs, bound_ms) for each in loads)
        summaries[own.name] = summarise([each for each in judged if each is not None])
    return summaries


def _unbounded(verdicts: Sequence[Verdict]) -> list[str]:
    names = [each.load.name for each in verdicts if each.unbounded]
    if not names:
        return []
    return [
        "No other lock was within the bound on waits in both halves, so any may be the best: "
        f"{', '.join(names)}."
    ]
