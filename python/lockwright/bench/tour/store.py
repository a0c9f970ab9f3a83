"""The runs of a tour in a file, a line each as it is made: what was measured is never lost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.bench.cases import Case
from lockwright.bench.rounds import Seen
from lockwright.machine.provenance import MUST_MATCH
from lockwright.run.bench_program import Outcome

SCHEMA = 1
"""Raised when a field changes its meaning or goes."""


@dataclass(frozen=True)
class Header:
    """What all runs of a tour have in common. facts: of the machine, its findings among them."""

    started: str
    locks: list[str]
    claims: list[str]
    processors: int
    seconds: float
    loops_per_us: float
    facts: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA


def begin(path: Path, header: Header) -> None:
    """Writes the first line. Raises LockwrightError where that fails."""
    _append(path, vars(header), "x")


def add(path: Path, one: Case, turn: int, outcome: Outcome) -> None:
    """Writes one run."""
    line = {
        "round": turn,
        "case": vars(one),
        "lines": outcome.lines,
        "seconds": outcome.seconds,
        "failure": outcome.failure,
        "timed_out": outcome.timed_out,
        "meters": dict(outcome.meters),
    }
    _append(path, line, "a")


def _append(path: Path, line: Mapping[str, object], mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    except FileExistsError as error:
        raise LockwrightError(
            f"there is a tour in {path.parent}", "go on with it by --resume, or give another -o"
        ) from error
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "free space, or give another -o"
        ) from error


def load(path: Path) -> tuple[Header, Seen, list[str]]:
    """A tour that was begun: its header, its runs, and what failed in them.

    Raises LockwrightError where there is none. A last line that was cut off is left out.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = Header(**json.loads(lines[0]))
    except (OSError, ValueError, IndexError, TypeError) as error:
        raise LockwrightError(
            f"there is no tour in {path.parent} to go on with", "leave --resume out to begin one"
        ) from error
    if header.schema != SCHEMA:
        raise LockwrightError(
            f"the tour in {path.parent} is of another version", "begin one in another directory"
        )
    seen, failures = Seen(), []
    for text in lines[1:]:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        one = _case(line["case"])
        outcome = Outcome(
            line["lines"],
            line["seconds"],
            line["failure"],
            line["timed_out"],
            meters=line["meters"],
        )
        seen.add(one, line["round"], outcome)
        if outcome.failure and not outcome.timed_out:
            failures.append(f"{one.label()}: {outcome.failure}")
    return header, seen, failures


def _case(known: Mapping[str, Any]) -> Case:
    def pairs(name: str) -> tuple[tuple[str, str], ...]:
        return tuple((key, value) for key, value in known[name])

    return Case(known["workload"], known["lock"], pairs("options"), pairs("environment"))


def check_same(header: Header, facts: Mapping[str, Any]) -> None:
    """Raises LockwrightError if the machine or the libraries are others than the tour's."""
    for name in MUST_MATCH:
        if header.facts.get(name) != facts.get(name):
            raise LockwrightError(
                f"the tour was begun with {name} {header.facts.get(name)}, and this is "
                f"{facts.get(name)}",
                "its runs do not compare: begin one in another directory",
            )
