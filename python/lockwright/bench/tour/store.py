"""The runs of a tour in a JSONL file, to which each run is appended at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.bench.cases import Case
from lockwright.bench.rounds import RoundResults
from lockwright.run.bench_program import Outcome
from lockwright.run.run_log import RunLog


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

    Raises LockwrightError if there is no tour. An incomplete last line is left out.
    """
    try:
        header = Header(**file.settings())
    except TypeError as error:
        raise file.missing() from error
    results, failures = RoundResults(), []
    for line in file.lines():
        if "case" not in line:
            continue
        case = _case(line["case"])
        outcome = Outcome(
            line["lines"],
            line["seconds"],
            line["failure"],
            line["timed_out"],
            meters=line["meters"],
        )
        results.add(case, line["round"], outcome)
        if outcome.failure and not outcome.timed_out:
            failures.append(f"{case.label()}: {outcome.failure}")
    return header, results, failures


def _case(fields: Mapping[str, Any]) -> Case:
    options, environment = (tuple(map(tuple, fields[name])) for name in ("options", "environment"))
    return Case(fields["workload"], fields["lock"], options, environment)
