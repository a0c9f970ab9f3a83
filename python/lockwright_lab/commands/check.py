"""`lockwright check`: run a lock through the model checker."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from lockwright.commands.common import complete, grammar

if TYPE_CHECKING:
    from lockwright_lab.check.checker import Subject

_HEADER = ("algorithm", "scenario", "threads", "interleavings", "extent", "seconds", "verdict")
_ROW = "{:<16} {:<20} {:>7} {:>13}  {:<11} {:>8}  {}"


@click.command("check")
@click.argument("lock", metavar="LOCK|RWLOCK|HEADER", shell_complete=complete.lock_or_file)
@click.option(
    "--type",
    "type_",
    metavar="NAME",
    help="Class template in the header, as NAME or NAME<Env, ...>.  [default: the file's name]",
)
@click.option(
    "--threads", type=click.IntRange(2, 5), metavar="N", help="Run only programs of N threads."
)
@click.option("--scenario", metavar="NAME", help="Run only this program.")
@grammar.real_number(
    "--budget", 10.0, "End a search after S seconds.", metavar="S", min=0, min_open=True
)
@grammar.json_file("the table and the failing interleaving")
def command(
    lock: str,
    type_: str | None,
    threads: int | None,
    scenario: str | None,
    budget: float,
    json_file: Path | None,
) -> int:
    """Try every interleaving of small programs over a lock, or as many as the budget allows.

    LOCK is one of 'lockwright list' or of 'lockwright list --rwlocks'; HEADER is a file with a lock
    of your own.

    Extent: 'exhaustive' is every interleaving; 'bound=N' every one with at most N switches away
    from a thread that could continue; 'random' as many as the budget allows. If one fails, it is
    printed step by step, and the exit status is 1.
    """
    import json

    from lockwright.base import files

    from lockwright_lab.check import checker

    subject = _subject(lock, type_)
    _print_status(f"compiling the checker for {subject.name}")
    try:
        program = checker.build(subject)
    finally:
        _clear()
    arguments = _arguments(subject, program, threads, scenario)
    rows: list[dict[str, object]] = []
    steps: list[str] = []
    problem: dict[str, object] | None = None
    print(_ROW.format(*_HEADER), flush=True)
    search = ""
    try:
        for fields in _watched(program, [*arguments, "--budget", str(budget)], budget):
            kind, *values = fields
            if kind == "begin":
                search = f"{values[0]} with {values[1]} threads"
            elif kind == "end":
                rows.append(_row(subject.name, values))
                print(_ROW.format(subject.name, *values), flush=True)
            elif kind == "step":
                steps.append(values[0])
            elif kind == "problem":
                problem = {"scenario": values[0], "threads": int(values[1]), "what": values[2]}
    except checker.Crashed as crash:
        scenario_name, _, count, _ = search.split(" ")
        problem = {"scenario": scenario_name, "threads": int(count), "what": f"the lock {crash}"}
    if problem:
        _show(problem, steps)
    else:
        exhaustive = sum(row["extent"] == "exhaustive" for row in rows)
        print(f"Nothing fails: {len(rows)} programs, {exhaustive} of them in every interleaving.")
    if json_file is not None:
        failure = problem and {**problem, "steps": steps}
        result = {"lock": subject.name, "type": subject.type, "header": subject.header}
        result |= {"budget": budget, "rows": rows, "failure": failure}  # type: ignore[dict-item]
        files.write(json_file, json.dumps(result, indent=2) + "\n", "--json")
    return 1 if problem else 0


def _subject(lock: str, type_: str | None) -> "Subject":
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import BASELINE, registry
    from lockwright.preload.rwlocks import rwlocks

    from lockwright_lab.check import checker

    if "/" in lock or Path(lock).suffix in (".hpp", ".h", ".hh", ".hxx") or Path(lock).is_file():
        return checker.subject_of_header(Path(lock), type_)
    if type_ is not None:
        raise click.UsageError("--type is for a header: a lock of the list has its type")
    locks = registry()
    if lock not in locks.names and lock in rwlocks():
        return checker.subject_of_registry(lock)
    if locks.find(lock).name == BASELINE:
        raise LockwrightError(
            f"{BASELINE} is the C library's mutex, whose source is not part of Lockwright",
            "choose another lock, or a header",
        )
    return checker.subject_of_registry(lock)


def _arguments(
    subject: "Subject", program: Path, threads: int | None, scenario: str | None
) -> list[str]:
    """Return the checker's arguments to select programs. Raises LockwrightError for no program."""
    from lockwright.base.errors import LockwrightError, nearest_hint

    from lockwright_lab.check import checker

    arguments = []
    known = [fields[1:] for fields in checker.output_fields(program, ["--list"], patience=60)]
    if scenario is not None:
        names = list(dict.fromkeys(name for name, _ in known))
        if scenario not in names:
            hint = nearest_hint(scenario, names)
            raise LockwrightError(f"{subject.name} has no scenario '{scenario}'", hint)
        if threads is not None and [scenario, str(threads)] not in known:
            raise LockwrightError(
                f"the scenario '{scenario}' has no program with {threads} threads",
                "leave out --threads",
            )
        arguments += ["--scenario", scenario]
    if threads is not None:
        if str(threads) not in (number for _, number in known):
            raise LockwrightError(
                f"{subject.name} has no program with {threads} threads", "leave out --threads"
            )
        arguments += ["--threads", str(threads)]
    return arguments


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
    from lockwright_lab.check import checker

    # A search tries all interleavings, then bounds, and repeats the search for a failure.
    patience = 20 * budget + 60
    try:
        for fields in checker.output_fields(program, arguments, patience):
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
