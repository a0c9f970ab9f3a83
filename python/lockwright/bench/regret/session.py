"""A measurement of a grid in its directory: its start or resumption, runs and files."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.bench.regret import contenders, grid, measure, native, output, page, runs, simulated
from lockwright.bench.regret.contenders import Contest
from lockwright.bench.regret.grid import Cell
from lockwright.bench.regret.native import Pace
from lockwright.bench.regret.runs import Run, Runs
from lockwright.bench.regret.verdict import Summary, Verdict, judge
from lockwright.bench.report import noise, processors
from lockwright.machine import provenance
from lockwright.run.bench_program import loops_per_us
from lockwright.run.resume import check_facts
from lockwright.run.run_log import RunLog
from lockwright.simulate import machine as machines

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
    def is_simulated(self) -> bool:
        """True if the grid runs on a simulated machine."""
        return self.settings["machine"] is not None

    @property
    def bound_ms(self) -> float:
        """The bound on waits."""
        return float(self.settings["longest_wait"])

    @contextlib.contextmanager
    def runner(self) -> Iterator[measure.Runner]:
        """Yield the machine that the grid runs on."""
        given = self.settings
        if self.is_simulated:
            yield simulated.Simulated(
                machines.load(given["machine"]), given["seconds"], given["timeout"]
            )
            return
        pace = Pace(given["seconds"], given["warm_up"], given["loops_per_us"], given["timeout"])
        with native.here(self.cells, pace) as made:
            yield made

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts of all cells with runs."""
        found = (judge(cell, self.contest, self.runs, self.bound_ms) for cell in self.cells)
        return [each for each in found if each is not None]


def begin(directory: Path, settings: dict[str, Any]) -> Session:
    """Make the directory. settings: the options of the command.

    Raise LockwrightError for names that do not exist, and if the directory has a measurement.
    """
    session = _open(directory, settings | {"loops_per_us": 0.0})
    session.log.prepare_directory()
    files.check_all_writable(
        {f"-o, file {name}": directory / name for name in (REPORT, FIGURES, WHOLE)}
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
    """Open the measurement in a directory. rounds: None for those that it was begun with.

    Raise LockwrightError if there is none, or if this is another machine or build.
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
    chosen = grid.choose(of_grid(_processors(settings)), settings["cells"])
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
    """Make the runs that are missing; return the signal that ended them early, if one did."""

    def keep(made: Run) -> None:
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
                keep,
            )

    return interrupts.until_stopped(make_runs)


def remarks(session: Session, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the conditions of the measurement."""
    found = list(session.remarks)
    known = [each.others for each in verdicts if each.others is not None]
    if session.is_simulated:
        found.insert(0, "Every figure is of a simulated machine. None was measured.")
    elif known:
        found.append(noise(sum(known) / len(known)))
    unbounded = [each.cell.name for each in verdicts if each.unbounded]
    if unbounded:
        found.append(
            "No other lock kept the bound on waits in both halves, so that any could be the best: "
            f"{', '.join(unbounded)}."
        )
    return found


def heading(session: Session) -> str:
    """Return the conditions in a line."""
    given = session.settings
    where = f"{given['processors']} processors"
    if session.is_simulated:
        where += f" of {machines.load(given['machine']).title}, simulated"
    return (
        f"{session.lock} against {len(session.contest.others)} locks on {where}; "
        f"{given['runs']} runs of {given['seconds']:g} s in each cell; bound on waits "
        f"{given['longest_wait']:g} ms"
    )


def write(
    session: Session, verdicts: Sequence[Verdict], summary: Summary, *, complete: bool
) -> list[Path]:
    """Write the page, the CSV and the JSON file; return their paths."""
    said = remarks(session, verdicts)
    is_simulated = session.is_simulated
    texts = {
        REPORT: page.as_page(verdicts, summary, session.lock, heading(session), said),
        FIGURES: output.as_csv(verdicts, session.lock, simulated=is_simulated),
        WHOLE: output.as_json(verdicts, summary, session.settings, said, complete=complete),
    }
    for name, text in texts.items():
        files.write(session.directory / name, text, "-o")
    return [session.directory / name for name in texts]
