"""Valid run logs of a tour, a grid and of validations, and what resuming them reads."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

from lockwright.calibrate.report import processors
from lockwright.machine import provenance
from lockwright.run.resume import check_facts
from lockwright.run.run_log import RunLog
from lockwright_lab.bench.claims.measure import findings
from lockwright_lab.bench.claims.table import choose
from lockwright_lab.bench.predictions import agreement as predicted_agreement
from lockwright_lab.bench.predictions import store as predictions
from lockwright_lab.bench.predictions import subjects
from lockwright_lab.bench.predictions import tables as predicted_tables
from lockwright_lab.bench.regret import grid, native
from lockwright_lab.bench.regret import runs as grid_runs
from lockwright_lab.bench.regret import session as grid_session
from lockwright_lab.bench.regret.verdict import summarise
from lockwright_lab.bench.tour import store, tour_session
from lockwright_lab.bench.tour.page import Tour
from lockwright_lab.bench.validation import agreement, tables
from lockwright_lab.bench.validation import store as validation
from lockwright_lab.bench.validation.cells import Cell, Rate

from support import made_tour

#: The cells of the grid, and its locks.
_CELLS = "single/100ns/none/2,step/100ns-100us/*"
_LOCKS = ("pthread", "futex")

#: The locks of a validation.
_RIVALS = ["pthread", "futex", "ttas"]

#: The process that made the runs, which has ended. The files are read in children of this one, and
#: would be refused there if it had made them.
_OWNER = {"owner": "2 1 an-earlier-boot"}

#: A predicted change: from two threads to four.
_CHANGE = subjects.Case(
    subjects.catalogue_subject("pigz", 2, 0.25),
    subjects.catalogue_subject("pigz", 4, 0.25),
    subjects.COUNT,
    4,
)

_PREDICTION_SETTINGS = predictions.Settings(0.25, 1.0)

#: A claim of the tour.
_CLAIM = "handover-pinned"


def write_tour(path: Path) -> None:
    """Write a tour with three rounds, of which one run failed."""
    log = RunLog(path, "tour")
    log.begin(asdict(replace(made_tour.HEADER, claims=[_CLAIM], facts=provenance.machine())))
    log.append(_OWNER)
    for case, outcomes in made_tour.made(3).outcomes.items():
        for round_number, outcome in outcomes.items():
            store.add(log, case, round_number, outcome)
    failed = replace(made_tour.outcome(1.0), failure="it crashed", meters={"joules": 1.0})
    store.add(log, made_tour.PLAN.contended("fast", 2), 3, failed)


def resume_tour(path: Path) -> None:
    """Read what the command reads before it measures again, and make its files."""
    log = RunLog(path, "tour")
    header, results, failures = store.load(log)
    check_facts(header.facts, provenance.machine(), "the tour", "begin another")
    log.adopt()
    session = tour_session.TourSession(path.parent, header, made_tour.HERE, results, failures)
    plan = session.plan()
    claims = choose(",".join(session.claims)) if session.claims else []
    found = findings(claims, results, made_tour.HERE)
    tour = Tour(header, plan, results, found, failures, "again", "", True)
    tour_session.write(tour, path.parent)


def write_grid(path: Path) -> None:
    """Write a grid with four rounds of two locks in two cells."""
    log = RunLog(path, "grid")
    log.begin(
        {
            "lock": "futex", "against": "pthread", "cells": _CELLS,
            "quick": False, "ablate": False, "machine": None, "runs": 4, "seconds": 0.2,
            "warm_up": 0.02, "timeout": None, "longest_wait": 100.0, "loops_per_us": 900.0,
            "processors": 2, "started": "then", "facts": provenance.machine(),
        }
    )  # fmt: skip
    log.append(_OWNER)
    for number in range(4):
        for lock, rate in zip(_LOCKS, (1e6, 2e6), strict=True):
            for cell in grid.choose(grid.grid(processors()), _CELLS):
                samples = tuple((t / 10, rate * (t + 2)) for t in range(-2, 3))
                run = grid_runs.Run(
                    cell.name, lock, number, rate + number, 0.01, 1.5, 0.3, 0.01, "", samples
                )
                log.append(asdict(run))


def resume_grid(path: Path) -> None:
    """Read what the command reads before it measures again, and make its files."""
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    shutil.copy(path, grid_runs.log(folder).path)
    # It makes a control group if a cell has a quota.
    with mock.patch.object(native, "possible", lambda cells: (list(cells), [])):
        session = grid_session.resume(folder, None)
    verdicts = session.verdicts()
    grid_session.heading(session)
    grid_session.write(session, verdicts, summarise(verdicts), complete=False)


def write_validation(path: Path) -> None:
    """Write the real and the simulated runs of three locks in a cell."""
    log = RunLog(path, "validation")
    lengths = {"seconds": 0.05, "warm_up": 0.01, "timeout": 1.0}
    log.begin({**lengths, "loops_per_us": 900.0, "facts": provenance.machine()})
    log.append(_OWNER)
    for lock, rate in zip(_RIVALS, (1e6, 2e6, 3e6), strict=True):
        for number in range(3):
            for source in ("real", "simulated"):
                log.append(asdict(Rate(source, "single-lock", 2, lock, number, rate + number)))


def resume_validation(path: Path) -> None:
    """Read what the command reads before it measures again, and make its tables."""
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / validation.RUNS)
    settings, rates = validation.load(folder)
    check_facts(settings["facts"], provenance.machine(), "the validation", "begin another")
    validation.log(folder).adopt()
    cells = [Cell("single-lock", 2)]
    found = agreement.agreement(rates, cells, _RIVALS, 3)
    repeated = agreement.repeatability(rates, cells, _RIVALS)
    if found.cells:
        tables.cells_table(found, repeated)
        tables.workloads_table(found, repeated)
        tables.worst_table(found, 3)
    tables.sentences(found, repeated)


def _store(path: Path) -> predictions.Store:
    """Return a folder beside a file with the predictions of three locks, and their runs, of which
    one was ended at its limit and some failed."""
    folder = path.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    store = predictions.Store(folder)
    store.begin(_PREDICTION_SETTINGS)
    log = RunLog(folder / predictions.RUNS, "")
    log.append(_OWNER)
    for number in range(4):
        for subject, lock in (
            (_CHANGE.before, "pthread"),
            (_CHANGE.before, "futex"),
            (_CHANGE.after, "pthread"),
        ):
            rate = 4.0 + number + len(lock)
            store.add(predictions.Run("pigz", subject.threads, lock, number, rate, 0.25))
    ended = predictions.Run("pigz", 2, "ttas", 0, 0.0, 0.25, is_ended=True)
    for run in (ended, replace(ended, round=1, is_ended=False, failure="it crashed")):
        store.add(run)
    rates = {("pigz", 2, lock): 1e6 + number for number, lock in enumerate(_RIVALS)}
    store.add_predictions("pigz", rates, {_CHANGE.name: 1.5}, is_blind=True)
    return store


def write_predictions(path: Path) -> None:
    """Write the runs of three locks that are predicted."""
    shutil.copy(_store(path).folder / predictions.RUNS, path)


def write_predicted(path: Path) -> None:
    """Write the predictions of three locks."""
    shutil.copy(_store(path).folder / f"pigz{predictions.PREDICTED}", path)


def resume_predictions(path: Path) -> None:
    """Read what the command reads before it measures again, and make its tables."""
    store = _store(path)
    shutil.copy(path, store.folder / predictions.RUNS)
    _resume(store)


def resume_predicted(path: Path) -> None:
    """Read predictions with valid runs as the command does, and make its tables."""
    store = _store(path)
    shutil.copy(path, store.folder / f"pigz{predictions.PREDICTED}")
    _resume(store)


def _resume(store: predictions.Store) -> None:
    made = store.begin(_PREDICTION_SETTINGS)
    rates, gains = store.predictions()
    found = predicted_agreement.cell(_CHANGE.before, _RIVALS, made, rates)
    changed = predicted_agreement.changed(_CHANGE, made, gains)
    if found:
        predicted_tables.cells_table([found])
        predicted_tables.worst_table([found], 3)
    if changed:
        predicted_tables.changes_table([changed])
    predicted_tables.sentences([found] if found else [], [changed] if changed else [])
    store.not_blind()
    made.failures()
