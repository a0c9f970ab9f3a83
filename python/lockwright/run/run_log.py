"""A JSONL file of runs: a first line of settings, then a line for each run as it ends."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.results import this_process
from lockwright.run import resume

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""


@dataclass(frozen=True)
class RunLog:
    """The file of one measurement. subject: its name in messages, such as "tour"."""

    path: Path
    subject: str

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Write the first line. Raise LockwrightError if the file exists or cannot be written."""
        self._write({"schema": SCHEMA, **settings}, "x")

    def prepare_directory(self) -> None:
        """Make the directory. Raise LockwrightError if that fails, or if it has a measurement."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LockwrightError(
                f"cannot make the directory {self.path.parent}: {error.strerror}",
                "give another one with -o",
            ) from error
        if self.path.exists():
            raise self._exists()

    def adopt(self) -> None:
        """Make this process the one that carries it out. Raise LockwrightError if the previous one
        is alive."""
        owners = [line["owner"] for line in self.lines() if "owner" in line]
        if owners:
            resume.check_not_running(owners[-1], self.subject)
        if not self.path.read_bytes().endswith(b"\n"):
            # A kill has cut off the last line: the next one must begin on a new line.
            with self.path.open("a") as file:
                file.write("\n")
        self.append({"owner": this_process()})

    def append(self, line: Mapping[str, object]) -> None:
        """Write one line. Raise LockwrightError if that fails."""
        self._write(line, "a")

    def settings(self) -> dict[str, Any]:
        """Return the first line. Raise LockwrightError if the measurement cannot be resumed."""
        try:
            with self.path.open(encoding="utf-8") as file:
                settings: dict[str, Any] = json.loads(file.readline())
            version = settings.pop("schema")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self.missing() from error
        if version != SCHEMA:
            raise LockwrightError(
                f"the {self.subject} in {self.path.parent} is of another version",
                "begin one in another directory",
            )
        return settings

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines after the first, except one that a kill has cut off."""
        lines = []
        for text in self.path.read_text(encoding="utf-8").splitlines()[1:]:
            with contextlib.suppress(ValueError):
                lines.append(json.loads(text))
        return lines

    def missing(self) -> LockwrightError:
        """Return the error that there is nothing to resume."""
        return LockwrightError(
            f"there is no {self.subject} in {self.path.parent} to resume",
            "leave out --resume to begin one",
        )

    def _exists(self) -> LockwrightError:
        return LockwrightError(
            f"there is a {self.subject} in {self.path.parent}",
            "resume it with --resume, or give another -o",
        )

    def _write(self, line: Mapping[str, object], mode: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except FileExistsError as error:
            raise self._exists() from error
        except OSError as error:
            raise LockwrightError(
                f"cannot write {self.path}: {error.strerror}", "free space, or give another -o"
            ) from error
