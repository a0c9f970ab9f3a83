"""A JSONL file of runs: a first line of settings, then a line for each run as it ends."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lockwright.base import documents
from lockwright.base.errors import LockwrightError
from lockwright.base.results import this_process
from lockwright.run import resume

_Kind = TypeVar("_Kind")

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""


@dataclass(frozen=True)
class _Owner:
    """The line of a process that made the runs below it."""

    owner: str


@dataclass(frozen=True)
class RunLog:
    """The file of a measurement. subject: its name in messages, such as "validation".
    by_option: --resume continues it; otherwise the same command with the same directory does."""

    path: Path
    subject: str
    by_option: bool = True

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
        owners = self.records("owner", _Owner)
        if owners:
            resume.check_not_running(owners[-1].owner, self.subject)
        if not self.path.read_bytes().endswith(b"\n"):
            # The last line is incomplete after a kill; the next one must begin on a new line.
            with self.path.open("a") as file:
                file.write("\n")
        self.append({"owner": this_process()})

    def append(self, line: Mapping[str, object]) -> None:
        """Write a line. Raises LockwrightError on failure."""
        self._write(line, "a")

    def settings(self, kind: type[_Kind]) -> _Kind:
        """Return the first line as a dataclass. Raises LockwrightError if the measurement cannot be
        resumed."""
        try:
            with self.path.open(encoding="utf-8") as file:
                settings = documents.parse_json(file.readline())
            version = settings["schema"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise self._missing() from error
        if version != SCHEMA:
            raise LockwrightError(
                f"the {self.subject} in {self.path.parent} is of another version",
                "begin one in another directory",
            )
        try:
            return documents.typed(kind, settings)
        except ValueError as error:
            raise self.damaged(1, str(error)) from error

    def records(self, name: str, kind: type[_Kind]) -> list[_Kind]:
        """Return the lines after the first that have a value of this name, each as a dataclass.
        Raises LockwrightError if one has values of other types."""
        records = []
        for number, line in self._lines():
            if name in line:
                try:
                    records.append(documents.typed(kind, line))
                except ValueError as error:
                    raise self.damaged(number, str(error)) from error
        return records

    def _lines(self) -> Iterator[tuple[int, Any]]:
        """Yield the lines after the first with their numbers. Those that are no JSON are left out:
        a kill leaves an incomplete line."""
        lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, text in enumerate(lines[1:], 2):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            except RecursionError as error:
                raise self.damaged(number, "too many brackets") from error
            if not isinstance(line, dict):
                raise self.damaged(number, f"it is {str(line)[:40]!r}")
            yield number, line

    def damaged(self, number: int, why: str) -> LockwrightError:
        """Return the error for a line, counted from 1, with values that no run writes."""
        todo = "remove the line, and its run is made again"
        if number == 1:
            without = ", without --resume," if self.by_option else ""
            todo = f"give another -o{without} to begin one"
        return LockwrightError(f"line {number} of {self.path} is damaged ({why})", todo)

    def _missing(self) -> LockwrightError:
        return LockwrightError(
            f"there is no {self.subject} in {self.path.parent} to resume",
            "leave out --resume to begin one" if self.by_option else "begin one with another -o",
        )

    def _exists(self) -> LockwrightError:
        return LockwrightError(
            f"there is a {self.subject} in {self.path.parent}",
            "resume it with --resume, or give another -o" if self.by_option else "give another -o",
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
