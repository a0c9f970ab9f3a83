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
    """The file of a measurement. subject: its name in messages, such as "tour"."""

    path: Path
    subject: str

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Write the first line. Raises LockwrightError if the file exists or cannot be written."""
        self._write({"schema": SCHEMA, **settings}, "x")

    def prepare_directory(self) -> None:
        """Make the directory. Raises LockwrightError on failure or if it contains the file."""
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
        """Make this process the owner. Raises LockwrightError if the previous owner is alive."""
        owners = [line["owner"] for line in self.lines() if "owner" in line]
        if owners:
            resume.check_not_running(owners[-1], self.subject)
        if not self.path.read_bytes().endswith(b"\n"):
            # The last line is incomplete after a kill; the next one must begin on a new line.
            with self.path.open("a") as file:
                file.write("\n")
        self.append({"owner": this_process()})

    def append(self, line: Mapping[str, object]) -> None:
        """Write a line. Raises LockwrightError on failure."""
        self._write(line, "a")

    def settings(self) -> dict[str, Any]:
        """Return the first line. Raises LockwrightError if the measurement cannot be resumed."""
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
        """Return all lines after the first, except incomplete ones."""
        lines = []
        for text in self.path.read_text(encoding="utf-8").splitlines()[1:]:
            with contextlib.suppress(ValueError):
                lines.append(json.loads(text))
        return lines

    def missing(self) -> LockwrightError:
        """Return the error for a missing file."""
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
