"""The file of a validation: its options, then one line for each run."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.bench.validation.cells import Rate, Rates

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""

RUNS = "validation.jsonl"


def begin(directory: Path, settings: Mapping[str, Any]) -> None:
    """Create the directory and the file. Raises LockwrightError if the file exists."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / RUNS).open("x", encoding="utf-8") as file:
            file.write(json.dumps({"schema": SCHEMA, **settings}) + "\n")
    except FileExistsError as error:
        raise LockwrightError(
            f"there is a validation in {directory}", "resume it with --resume, or give another -o"
        ) from error
    except OSError as error:
        raise LockwrightError(
            f"cannot write {directory / RUNS}: {error.strerror}", "give another directory with -o"
        ) from error


def load(directory: Path) -> tuple[dict[str, Any], Rates]:
    """Return the options and the runs. Raises LockwrightError if it cannot be resumed."""
    try:
        first, *others = (directory / RUNS).read_text(encoding="utf-8").splitlines()
        settings = json.loads(first)
        version = settings.pop("schema")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockwrightError(
            f"there is no validation in {directory} to resume", "leave out --resume to begin one"
        ) from error
    if version != SCHEMA:
        raise LockwrightError(
            f"the validation in {directory} is of another version", "begin one elsewhere"
        )
    rates = Rates()
    for text in others:
        # The last line may be incomplete after a kill.
        with contextlib.suppress(ValueError, TypeError):
            rates.add(Rate(**json.loads(text)))
    return settings, rates


def add(directory: Path, run: Rate) -> None:
    """Append a run."""
    with (directory / RUNS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run)) + "\n")
