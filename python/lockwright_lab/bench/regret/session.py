"""A measurement of a grid in its directory: its start or resumption, runs and files."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import noise, processors
from lockwright.machine import provenance
from lockwright.run.bench_program import loops_per_us
from lockwright.run.resume import check_facts
from lockwright.run.run_log import RunLog
from lockwright.simulate import machine as machines

from lockwright_lab.bench.regret import (
    contenders,
    grid,
    measure,
    native,
    output,
    page,
    runs,
    simulated,
)
from lockwright_lab.bench.regret.contenders import Contest
from lockwright_lab.bench.regret.grid import Cell
from lockwright_lab.bench.regret.native import RunLengths
from lockwright_lab.bench.regret.runs import Run, Runs
from lockwright_lab.bench.regret.verdict import Summary, Verdict, judge

REPORT, FIGURES, DOCUMENT = "report.html", "figures.csv", "regret.json"
"""The files of a measurement, beside that of the runs."""


@dataclass
class Session:
    """A measurement. settings: the first line of its file."""

    directory: Path
    settings: dict[str, Any]
    contest: Contest
    cells: list[Cell]
    runs: Runs = field(default_factory=Runs)
    remarks: list[str] = field(default_factory=list)

    @property
    def log(self) -> RunLog:
        return runs.log(self.directory)

    @property
    def lock(self) -> str:
        return self.contest.own.name

    @property
    def is_simulated(self) -> bool:
        return self.settings["machine"] is not None

    @property
    def bound_ms(self) -> float:
        return float(self.settings["longest_wait"])

    @contextlib.contextmanager
    def runner(self) -> Iterator[measure.Runner]:
        """Yield the machine that the grid runs on."""
        seconds, timeout = self.settings["seconds"], self.settings["timeout"]
        if self.is_simulated:
            machine = machines.load(self.settings["machine"])
            yield simulated.Simulated(machine, seconds, timeout)
            return
        warm_up, loops = self.settings["warm_up"], self.settings["loops_per_us"]
        lengths = RunLengths(seconds, warm_up, loops, timeout)
        with native.this_machine(self.cells, lengths) as runner:
            yield runner

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts of all cells with runs."""
        judged = (judge(cell, self.contest, self.runs, self.bound_ms) for cell in self.cells)
        return [each for each in judged if each is not None]


def begin(directory: Path, settings: dict[str, Any]) -> Session:
    """Begin a measurement in a directory, which is created. settings: the options of the command.

    Raises LockwrightError for unknown names, and if the directory has a measurement.
    """
    session = _open(directory, settings | {"loops_per_us": 0.0})
    session.log.prepare_directory()
    files.check_all_writable(
        {f"-o, file {name}": directory / name for name in (REPORT, FIGURES, DOCUMENT)}
    )
    session.settings |= {
        "loops_per_us": 0.0 if session.is_simulated else loops_per_us(),
        "processors": _processors(session.settings),
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "facts": provenance.machine(),
    }
    session.log.begin(session.settings)
    session.log.adopt()
    return session


def resume(directory: Path, rounds: int | None) -> Session:
    """Open the measurement in a directory. rounds: None for the number at its begin.

    Raises LockwrightError if there is none, or if this is another machine or build.
    """
    settings, earlier = runs.load(runs.log(directory))
    advice = "its runs do not compare: begin one in another directory"
    check_facts(settings["facts"], provenance.machine(), "the grid", advice)
    if rounds is not None:
        settings["runs"] = rounds
    session = _open(directory, settings)
    session.runs = earlier
    session.log.adopt()
    return session


def _open(directory: Path, settings: dict[str, Any]) -> Session:
    contest = contenders.contest(
        settings["lock"],
        settings["against"],
        quick=settings["quick"],
        ablate=settings["ablate"],
    )
    all_cells = grid.quick_grid if settings["quick"] else grid.grid
    chosen = grid.choose(all_cells(_processors(settings)), settings["cells"])
    possible = native.possible if settings["machine"] is None else simulated.possible
    cells, remarks = possible(chosen)
    if not cells:
        raise LockwrightError("none of these cells can be run", "choose others with --cells")
    return Session(directory, settings, contest, cells, remarks=remarks)


def _processors(settings: Mapping[str, Any]) -> int:
    if settings["machine"] is None:
        return processors()
    return machines.load(settings["machine"]).processors


def run(session: Session) -> interrupts.Stopped | None:
    """Make the runs that are missing; return the signal that ended them early, if any."""

    def store(made: Run) -> None:
        session.log.append(asdict(made))

    def make_runs() -> None:
        with session.runner() as runner:
            measure.measure(
                session.cells,
                session.contest,
                session.bound_ms,
                session.runs,
                session.settings["runs"],
                runner,
                store,
            )

    return interrupts.until_stopped(make_runs)


def remarks(session: Session, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the conditions of the measurement."""
    texts = list(session.remarks)
    known = [each.others for each in verdicts if each.others is not None]
    if session.is_simulated:
        texts.insert(0, "Every figure is of a simulated machine. None was measured.")
    elif known:
        texts.append(noise(sum(known) / len(known)))
    unbounded = [each.cell.name for each in verdicts if each.unbounded]
    if unbounded:
        texts.append(
            "No other lock was within the bound on waits in both halves, so any may be the best: "
            f"{', '.join(unbounded)}."
        )
    return texts


def heading(session: Session) -> str:
    """Return the conditions in a line."""
    settings = session.settings
    machine = f"{settings['processors']} processors"
    if session.is_simulated:
        machine += f" of {machines.load(settings['machine']).title}, simulated"
    return (
        f"{session.lock} against {len(session.contest.others)} locks on {machine}; "
        f"{settings['runs']} runs of {settings['seconds']:g} s in each cell; bound on waits "
        f"{session.bound_ms:g} ms"
    )


def write(
    session: Session, verdicts: Sequence[Verdict], summary: Summary, *, complete: bool
) -> list[Path]:
    """Write the page, the CSV and the JSON file; return their paths."""
    notes = remarks(session, verdicts)
    texts = {
        REPORT: page.as_page(verdicts, summary, session.lock, heading(session), notes),
        FIGURES: output.as_csv(verdicts, session.lock, simulated=session.is_simulated),
        DOCUMENT: output.as_json(verdicts, summary, session.settings, notes, complete=complete),
    }
    for name, text in texts.items():
        files.write(session.directory / name, text, "-o")
    return [session.directory / name for name in texts]
