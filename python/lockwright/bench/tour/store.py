"""The runs of a tour in a JSONL file, appended as they are made, so that none is lost."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.results import this_process
from lockwright.bench.cases import Case
from lockwright.bench.rounds import Seen
from lockwright.run import resume
from lockwright.run.bench_program import Outcome

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""


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


def adopt(path: Path) -> None:
    """Makes this process the owner. Raises LockwrightError if the last one is still alive."""
    owners = [line["owner"] for line in _lines(path) if "owner" in line]
    if owners:
        resume.check_owner(owners[-1], "tour")
    if not path.read_bytes().endswith(b"\n"):
        # A kill has cut off the last line: what follows it must not be lost with it.
        with path.open("a") as file:
            file.write("\n")
    _append(path, {"owner": this_process()}, "a")


def _lines(path: Path) -> list[dict[str, Any]]:
    """All lines after the header, less what a kill has cut off."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines()[1:]:
        with contextlib.suppress(ValueError):
            lines.append(json.loads(text))
    return lines


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
            f"there is a tour in {path.parent}", "resume it with --resume, or give another -o"
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
        with path.open(encoding="utf-8") as file:
            header = Header(**json.loads(file.readline()))
    except (OSError, ValueError, TypeError) as error:
        raise LockwrightError(
            f"there is no tour in {path.parent} to resume", "leave out --resume to begin one"
        ) from error
    if header.schema != SCHEMA:
        raise LockwrightError(
            f"the tour in {path.parent} is of another version", "begin one in another directory"
        )
    seen, failures = Seen(), []
    for line in _lines(path):
        if "case" not in line:
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
