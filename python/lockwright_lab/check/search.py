"""The search for a failing interleaving of a lock: what `lockwright check` does."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from lockwright.base import files
from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.preload.locks import BASELINE, registry
from lockwright.preload.rwlocks import rwlocks

from lockwright_lab.check.checker import (
    Crashed,
    Subject,
    build,
    output_fields,
    subject_of_header,
    subject_of_registry,
)

_HEADER = ("algorithm", "scenario", "threads", "interleavings", "extent", "seconds", "verdict")
_ROW = "{:<16} {:<20} {:>7} {:>13}  {:<11} {:>8}  {}"


@dataclass
class Search:
    """What the checker found. rows: of its table; steps: the failing interleaving; problem: what
    went wrong and in which program, None if nothing did."""

    subject: Subject
    budget: float
    rows: list[dict[str, object]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    problem: dict[str, object] | None = None

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        subject = self.subject
        result: dict[str, object] = {"lock": subject.name, "type": subject.type}
        failure = self.problem and {**self.problem, "steps": self.steps}
        result |= {"header": subject.header, "budget": self.budget, "rows": self.rows}
        result["failure"] = failure
        files.write(path, json.dumps(result, indent=2) + "\n", "--json")


def search(subject: Subject, threads: Sequence[int], scenario: str | None, budget: float) -> Search:
    """Compile the checker and search each program for `budget` seconds; print the table and what
    fails. threads, scenario: select programs, none for all."""
    _print_status(f"compiling the checker for {subject.name}")
    try:
        program = build(subject)
    finally:
        _clear()
    selections = _selections(subject, program, threads, scenario)
    found = Search(subject, budget)
    print(_ROW.format(*_HEADER), flush=True)
    current = ""
    try:
        for kind, *values in chain.from_iterable(
            _watched(program, [*each, "--budget", str(budget)], budget) for each in selections
        ):
            if kind == "begin":
                current = f"{values[0]} with {values[1]} threads"
            elif kind == "end":
                found.rows.append(_row(subject.name, values))
                print(_ROW.format(subject.name, *values), flush=True)
            elif kind == "step":
                found.steps.append(values[0])
            elif kind == "problem":
                found.problem = _problem(values[0], values[1], values[2])
    except Crashed as crash:
        name, _, count, _ = current.split(" ")
        found.problem = _problem(name, count, f"the lock {crash}")
    if found.problem:
        _show(found.problem, found.steps)
    else:
        exhaustive = sum(row["extent"] == "exhaustive" for row in found.rows)
        count = f"{len(found.rows)} programs, {exhaustive} of them in every interleaving"
        print(f"Nothing fails: {count}.")
    return found


def _problem(scenario: str, threads: str, what: str) -> dict[str, object]:
    return {"scenario": scenario, "threads": int(threads), "what": what}


def subject_of(lock: str, type_: str | None) -> Subject:
    """Return the lock of the registry or of a header. Raises LockwrightError."""
    if "/" in lock or Path(lock).suffix in (".hpp", ".h", ".hh", ".hxx") or Path(lock).is_file():
        return subject_of_header(Path(lock), type_)
    if type_ is not None:
        raise LockwrightError("--type is for a header", "a lock of the list has its type")
    locks = registry()
    if lock not in locks.names and lock in rwlocks():
        return subject_of_registry(lock)
    if locks.find(lock).name == BASELINE:
        raise LockwrightError(
            f"{BASELINE} is the C library's mutex, whose source is not part of Lockwright",
            "choose another lock, or a header",
        )
    return subject_of_registry(lock)


def _selections(
    subject: Subject, program: Path, threads: Sequence[int], scenario: str | None
) -> list[list[str]]:
    """Return the checker's arguments of each of its runs. Raises LockwrightError for no program."""
    arguments = []
    known = [fields[1:] for fields in output_fields(program, ["--list"], patience=60)]
    if scenario is not None:
        names = list(dict.fromkeys(name for name, _ in known))
        if scenario not in names:
            hint = nearest_hint(scenario, names)
            raise LockwrightError(f"{subject.name} has no scenario '{scenario}'", hint)
        known = [fields for fields in known if fields[0] == scenario]
        arguments += ["--scenario", scenario]
    for count in map(str, threads):
        if count not in (number for _, number in known):
            name = f"the scenario '{scenario}'" if scenario else subject.name
            raise LockwrightError(
                f"{name} has no program with {count} threads", "leave out --threads"
            )
    return [[*arguments, "--threads", str(count)] for count in threads] or [arguments]


def _row(name: str, values: list[str]) -> dict[str, object]:
    row: dict[str, object] = dict(zip(_HEADER, (name, *values), strict=True))
    _, threads, interleavings, _, seconds, _ = values
    integers = {"threads": int(threads), "interleavings": int(interleavings)}
    return row | integers | {"seconds": float(seconds)}


def _show(problem: dict[str, object], steps: list[str]) -> None:
    print(f"\n{problem['scenario']} with {problem['threads']} threads fails", end="")
    print(" in these steps:\n" if steps else ".\n")
    for step in steps:
        print(step)
    print(f"\nWhat went wrong: {problem['what']}", flush=True)


def _watched(program: Path, arguments: list[str], budget: float) -> Iterator[list[str]]:
    """Yield the checker's lines, and print the current search on a terminal."""
    # A search tries all interleavings, then bounds, and repeats the search for a failure.
    patience = 20 * budget + 60
    try:
        for fields in output_fields(program, arguments, patience):
            _clear()
            if fields[0] == "begin":
                _print_status(f"searching: {fields[1]} with {fields[2]} threads")
            yield fields
    finally:
        _clear()


def _print_status(text: str) -> None:
    """Print the current step on a terminal; nothing for a pipe."""
    if sys.stderr.isatty():
        print(f"{text} ...", end="", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
