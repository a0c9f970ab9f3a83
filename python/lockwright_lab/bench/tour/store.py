"""The runs of a tour in a JSONL file, to which each run is appended at once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.run.bench_program import Outcome
from lockwright.run.run_log import RunLog
from lockwright.run.tools import Line

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.rounds import RoundResults


@dataclass(frozen=True)
class Header:
    """The common data of all runs of a tour. facts: those of the machine, with its findings."""

    started: str
    locks: list[str]
    claims: list[str]
    processors: int
    seconds: float
    loops_per_us: float
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Run:
    """A line of the file."""

    round: int
    case: Case
    lines: list[Line]
    seconds: float
    failure: str
    timed_out: bool
    meters: dict[str, float]


def log(directory: Path) -> RunLog:
    """Return the file of the runs of a tour in a directory."""
    return RunLog(directory / "runs.jsonl", "tour")


def add(file: RunLog, case: Case, round_number: int, outcome: Outcome) -> None:
    """Write one run."""
    line = {
        "round": round_number,
        "case": vars(case),
        "lines": outcome.lines,
        "seconds": outcome.seconds,
        "failure": outcome.failure,
        "timed_out": outcome.timed_out,
        "meters": dict(outcome.meters),
    }
    file.append(line)


def load(file: RunLog) -> tuple[Header, RoundResults, list[str]]:
    """Return the header of a tour, its runs, and the failures among them.

    Raises LockwrightError if there is no tour, or if a line of it is damaged. An incomplete line is
    left out.
    """
    header = file.settings(Header)
    results, failures = RoundResults(), []
    for run in file.records("case", _Run):
        outcome = Outcome(run.lines, run.seconds, run.failure, run.timed_out, meters=run.meters)
        results.add(run.case, run.round, outcome)
        if outcome.failure and not outcome.timed_out:
            failures.append(f"{run.case.label()}: {outcome.failure}")
    return header, results, failures
