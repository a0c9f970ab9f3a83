"""One measurement of a grid in its directory: begins or resumes it, and writes its files."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.bench.regret import contenders, grid, measure, output, page, runs
from lockwright.bench.regret.contenders import Contest
from lockwright.bench.regret.grid import Cell
from lockwright.bench.regret.measure import Pace
from lockwright.bench.regret.runs import Run, Runs
from lockwright.bench.regret.verdict import Summary, Verdict, judge
from lockwright.bench.report import noise, processors
from lockwright.machine import provenance
from lockwright.run.bench_program import loops_per_us
from lockwright.run.resume import check_facts
from lockwright.run.run_log import RunLog

REPORT, FIGURES, WHOLE = "report.html", "figures.csv", "regret.json"
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
        """The file of the runs."""
        return runs.log(self.directory)

    @property
    def lock(self) -> str:
        """The lock under test."""
        return self.contest.own.name

    @property
    def pace(self) -> Pace:
        """The lengths of the runs."""
        given = self.settings
        return Pace(
            given["seconds"],
            given["warm_up"],
            given["loops_per_us"],
            given["longest_wait"],
            given["timeout"],
        )

    def verdicts(self) -> list[Verdict]:
        """The verdicts of all cells with runs."""
        bound = self.settings["longest_wait"]
        found = (judge(cell, self.contest, self.runs, bound) for cell in self.cells)
        return [each for each in found if each is not None]


def begin(directory: Path, settings: dict[str, Any]) -> Session:
    """Makes the directory. settings: the options of the command.

    Raises LockwrightError for names that do not exist, and if the directory has a measurement.
    """
    session = _open(directory, settings | {"loops_per_us": 0.0})
    session.log.prepare_directory()
    files.check_all_writable(
        {f"-o, file {name}": directory / name for name in (REPORT, FIGURES, WHOLE)}
    )
    session.settings |= {
        "loops_per_us": loops_per_us(),
        "processors": processors(),
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "facts": provenance.machine(),
    }
    session.log.begin(session.settings)
    session.log.adopt()
    return session


def resume(directory: Path, rounds: int | None) -> Session:
    """Opens the measurement in a directory. rounds: None for those that it was begun with.

    Raises LockwrightError if there is none, or if this is another machine or build.
    """
    settings, made = runs.load(runs.log(directory))
    todo = "its runs do not compare: begin one in another directory"
    check_facts(settings["facts"], provenance.machine(), "the grid", todo)
    if rounds is not None:
        settings["runs"] = rounds
    session = _open(directory, settings)
    session.runs = made
    session.log.adopt()
    return session


def _open(directory: Path, settings: dict[str, Any]) -> Session:
    contest = contenders.contest(
        settings["lock"],
        settings["against"],
        quick=settings["quick"],
        ablate=settings["ablate"],
    )
    of_grid = grid.quick_grid if settings["quick"] else grid.grid
    cells, remarks = measure.possible(grid.choose(of_grid(processors()), settings["cells"]))
    if not cells:
        raise LockwrightError("no cell can be measured here", remarks[0])
    return Session(directory, settings, contest, cells, remarks=remarks)


def run(session: Session) -> interrupts.Stopped | None:
    """Makes the runs that are missing; returns the signal that ended them early, if one did."""

    def keep(made: Run) -> None:
        session.log.append(asdict(made))

    rounds = session.settings["runs"]
    return interrupts.until_stopped(
        lambda: measure.measure(
            session.cells, session.contest, session.pace, session.runs, rounds, keep
        )
    )


def remarks(session: Session, verdicts: Sequence[Verdict]) -> list[str]:
    """The conditions of the measurement."""
    found = list(session.remarks)
    known = [each.others for each in verdicts if each.others is not None]
    if known:
        found.append(noise(sum(known) / len(known)))
    unbounded = [each.cell.name for each in verdicts if each.unbounded]
    if unbounded:
        found.append(
            f"In {len(unbounded)} cells no other lock kept the bound on waits in both halves, and "
            f"any could be the best: {', '.join(unbounded)}."
        )
    return found


def heading(session: Session) -> str:
    """The conditions in a line."""
    given = session.settings
    return (
        f"{session.lock} against {len(session.contest.others)} locks on {given['processors']} "
        f"processors, {given['runs']} runs of {given['seconds']:g} s each in a cell; bound on "
        f"waits {given['longest_wait']:g} ms"
    )


def write(
    session: Session, verdicts: Sequence[Verdict], summary: Summary, *, complete: bool
) -> list[Path]:
    """Writes the page, the CSV and the JSON file; returns their paths."""
    said = remarks(session, verdicts)
    simulated = session.settings["machine"] is not None
    texts = {
        REPORT: page.as_page(verdicts, summary, session.lock, heading(session), said),
        FIGURES: output.as_csv(verdicts, session.lock, simulated=simulated),
        WHOLE: output.as_json(verdicts, summary, session.settings, said, complete=complete),
    }
    for name, text in texts.items():
        files.write(session.directory / name, text, "-o")
    return [session.directory / name for name in texts]
