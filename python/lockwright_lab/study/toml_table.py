"""Tables of a TOML file; errors name the file and the key."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lockwright.base.errors import LockwrightError, nearest_hint

_T = TypeVar("_T")


def load(path: Path) -> "Table":
    """Return the top table of a file. Raises LockwrightError if it is missing or is not TOML."""
    try:
        return Table(str(path), "", tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise LockwrightError(f"cannot read {path}: {error.strerror}", "check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LockwrightError(f"{path} is not TOML: {error}", "correct the file") from error


class Table:
    """A table that checks its values when they are read; `end` reports keys that were not read."""

    def __init__(self, file: str, key: str, values: Mapping[str, Any]) -> None:
        """Store the values. file: for messages; key: of the table itself, '' for the top one."""
        self.file = file
        self.key = key
        self.values = values
        self._known: list[str] = []

    def complaint(self, name: str, what: str, todo: str) -> LockwrightError:
        """Return the error for a key of this table; '' is the table itself."""
        key = ".".join(part for part in (self.key, name) if part)
        return LockwrightError(
            f"{self.file}: {key}: {what}" if key else f"{self.file}: {what}", todo
        )

    def has(self, name: str) -> bool:
        """Return whether the key is present; mark it as known."""
        self._known.append(name)
        return name in self.values

    def value(
        self, name: str, kind: type[_T] | tuple[type[_T], ...], words: str, default: Any
    ) -> Any:
        """Return the value of a key, of that type, or the default, where ... means that the key is
        required. words: the expected type, for messages."""
        if not self.has(name):
            if default is ...:
                raise self.complaint(name, "is missing", f"give {words}")
            return default
        value = self.values[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.complaint(name, f"is {_quoted(value)}, not {words}", "correct it")
        return value

    def text(self, name: str, default: Any = ..., among: Sequence[str] = ()) -> str:
        """Return a string, one of `among` if there are any."""
        value = str(self.value(name, str, "a text", default))
        if among and name in self.values and value not in among:
            raise self.complaint(name, f"is '{value}'", nearest_hint(value, among))
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.value(name, bool, "true or false", default))

    def number(
        self, name: str, default: Any = ..., least: float = 0, most: float = math.inf
    ) -> float:
        """Return a finite number from least to most."""
        value: float = self.value(name, (int, float), "a number", default)
        if not (math.isfinite(value) and least <= value <= most):
            bound = f" to {most:g}" if math.isfinite(most) else ""
            raise self.complaint(name, f"is {value:g}", f"give a number from {least:g}{bound}")
        return value

    def integer(self, name: str, default: Any = ..., least: int = 0, most: int = 1_000_000) -> int:
        """Return an integer from least to most."""
        value: int = self.value(name, int, "a whole number", default)
        if not least <= value <= most:
            raise self.complaint(name, f"is {value}", f"give a whole number from {least} to {most}")
        return value

    def texts(self, name: str, default: Any = ...) -> tuple[str, ...]:
        values = self.value(name, list, "a list of texts", default)
        if not all(isinstance(text, str) for text in values):
            raise self.complaint(name, "must be a list of strings", "write it as ['a', 'b']")
        return tuple(values)

    def integers(self, name: str, default: Any = ..., least: int = 1) -> tuple[int, ...]:
        """Return a list of distinct integers."""
        values = self.value(name, list, "a list of whole numbers", default)
        for number in values:
            if (
                not isinstance(number, int)
                or isinstance(number, bool)
                or not least <= number <= 100_000
            ):
                raise self.complaint(
                    name, f"has {_quoted(number)} in it", f"give whole numbers from {least}"
                )
        return tuple(dict.fromkeys(values))

    def pairs(self, name: str) -> dict[str, str]:
        """Return a table of strings; empty if it is missing."""
        values = self.value(name, dict, "a table of texts", {})
        for key, text in values.items():
            if not isinstance(text, str):
                raise self.complaint(
                    f"{name}.{key}", f"is {_quoted(text)}, not a string", "correct it"
                )
        return dict(values)

    def table(self, name: str) -> "Table | None":
        """Return the table of that key; None if it is missing."""
        values = self.value(name, dict, "a table", None)
        return None if values is None else self._table_of(name, values)

    def tables(self, name: str) -> list["Table"]:
        """Return the tables of a list, as in [[name]]; none if it is missing."""
        values = self.value(name, list, f"tables, each as [[{name}]]", [])
        if not all(isinstance(table, dict) for table in values):
            raise self.complaint(name, "is not a list of tables", f"write each as [[{name}]]")
        return [self._table_of(f"{name}[{n}]", table) for n, table in enumerate(values, 1)]

    def _table_of(self, name: str, values: Mapping[str, Any]) -> "Table":
        return Table(self.file, ".".join(part for part in (self.key, name) if part), values)

    def checked(self, name: str, check: Callable[[], _T]) -> _T:
        """Return the result of `check`; its error is raised with the file and the key."""
        try:
            return check()
        except LockwrightError as error:
            raise self.complaint(name, error.what, error.todo) from error

    def end(self) -> None:
        """Check the keys. Raises LockwrightError for an unknown one."""
        for name in self.values:
            if name not in self._known:
                raise self.complaint(
                    name, "is not a key of this table", nearest_hint(name, self._known)
                )


def _quoted(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
