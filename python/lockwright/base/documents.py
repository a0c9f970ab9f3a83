"""TOML and JSON as declared types, decoded by msgspec; each fault is one line with a remedy.

A type is a dataclass, or a Table, which has no other keys than its own. `Annotated[float,
Meta(ge=0, le=1)]` declares a range; `__post_init__` checks what involves several keys, and raises
ValueError("the problem; the remedy") if it is wrong. No union may have both a type with a range and
a tuple of fixed length: msgspec crashes.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import inspect

from lockwright.base.errors import LockwrightError, nearest_hint

_Kind = TypeVar("_Kind")

_MOST = 2.0**64
"""Numbers of JSON documents are smaller; a damaged one would overflow in computations."""

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""Types of msgspec's messages."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a document; a key that is not a field of it is a fault."""


class WrongValue(ValueError):
    """A value of a document that its type does not allow. todo: the remedy, if it depends on the
    value. The text names the value by its keys; the elements of lists count from 1."""

    def __init__(self, keys: list[str | int], what: str, todo: str) -> None:
        path = "".join(f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in keys)
        super().__init__(": ".join(filter(None, [path.removeprefix("."), what])))
        self.todo = todo


def typed(kind: type[_Kind], document: Any) -> _Kind:
    """Return a document's content as a declared type. Raises WrongValue."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise WrongValue(*_Fault(kind, document, str(error)).explained()) from error
    except UnicodeEncodeError as error:
        # JSON can escape half of a character.
        raise WrongValue([], "has a text that is not Unicode", "") from error


def convert(kind: type[_Kind], document: Any, where: str, todo: str = "correct it") -> _Kind:
    """Return a document's content as a declared type. where: the document's name, for messages;
    todo: the remedy for values of a wrong type. Raises LockwrightError."""
    try:
        return typed(kind, document)
    except WrongValue as error:
        raise LockwrightError(f"{where}: {error}", error.todo or todo) from error


def decode(
    kind: type[_Kind], text: str | bytes, where: str, todo: str = "name another file"
) -> _Kind:
    """Return a JSON text as a declared type; keys that a dataclass does not have are left out.
    Raises LockwrightError."""
    try:
        document = parse_json(text)
    except ValueError as error:
        raise LockwrightError(f"{where} is not JSON: {error}", todo) from error
    return convert(kind, document, where, todo)


@contextmanager
def named(where: str) -> Iterator[None]:
    """Put the place of a fault before the LockwrightError of a check."""
    try:
        yield
    except LockwrightError as error:
        raise LockwrightError(f"{where}: {error.what}", error.todo) from error


def parse_json(text: str | bytes) -> Any:
    """Return the content of a JSON text. Raises ValueError if it is none, or has a number that is
    not finite or is 2^64 or more."""
    try:
        return json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("too many brackets") from error


def load(kind: type[_Kind], path: Path, todo: str = "check the path") -> _Kind:
    """Return the content of a TOML file as a declared type. todo: the remedy if it cannot be read.
    Raises LockwrightError."""
    return convert(kind, read_toml(path, todo), str(path))


def read_toml(path: Path, todo: str = "check the path") -> dict[str, Any]:
    """Return the content of a TOML file. todo: the remedy if it cannot be read. Raises
    LockwrightError if it cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockwrightError(f"cannot read {path}: {error.strerror}", todo) from error
    except (ValueError, RecursionError) as error:
        raise LockwrightError(
            f"{path} is not TOML: {str(error).partition(chr(10))[0]}", "correct the file"
        ) from error


def _whole(digits: str) -> int:
    # A longer one is not converted: that takes time quadratic in its length.
    if len(digits) > 20 or not abs(value := int(digits)) < _MOST:
        _refuse(digits)
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if not (math.isfinite(value) and abs(value) < _MOST):
        _refuse(digits)
    return value


def _refuse(digits: str) -> NoReturn:
    raise ValueError(f"{digits[:40]} is not a number that such a file can have")


class _Fault:
    """A fault that msgspec has found in a document.

    what: the fault in msgspec's words; keys: where; value, type: the faulty value, and msgspec's
    description of the type that it should have, unless it is missing.
    """

    def __init__(self, kind: Any, document: Any, text: str) -> None:
        place = re.fullmatch(r"(.*) - at `(key` in `)?\$(.*)`", text, re.DOTALL)
        self.what, of_key, path = place.groups("") if place else (text, "", "")
        self.keys: list[str | int] = []
        type_ = inspect.type_info(kind)
        for step in re.findall(r"[^.\[\]]+|\.{3}", path):
            key = int(step) if step.isdecimal() else step
            if key == "...":
                key = _wrong_key(kind, document, self.keys, text)
            type_ = _type_of(type_, key)
            self.keys.append(key)
        self.value = document
        for key in self.keys:
            self.value = self.value[key]
        if of_key:
            self.value = _wrong_key(kind, document, self.keys, text)
            type_ = _part(type_, "key_type").key_type
            self.keys.append(self.value)
        self.type = type_

    def explained(self) -> tuple[list[str | int], str, str]:
        """Return the keys, the problem, and the remedy if it depends on the problem."""
        if missing := re.fullmatch(r"Object missing required field `(.*)`", self.what):
            return [*self.keys, missing[1]], "is missing", ""
        if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", self.what, re.DOTALL):
            fields = [field.encode_name for field in _part(self.type, "fields").fields]
            hint = nearest_hint(unknown[1], fields)
            return [*self.keys, unknown[1]], "is not a key of this table", hint
        if self.what.startswith("Invalid enum value"):
            values = [str(each) for each in _part(self.type, "values").values]
            if isinstance(self.value, str):
                return self.keys, f"is {_shown(self.value)}", nearest_hint(self.value, values)
            return self.keys, f"is {_shown(self.value)}, not {' or '.join(values)}", ""
        if wrong := re.fullmatch(r"Expected `([^`]*)`(.*?)(?:, got .*)?", self.what, re.DOTALL):
            kinds = [_WORDS[word] for word in wrong[1].split(" | ") if word in _WORDS]
            return self.keys, f"is {_shown(self.value)}, not {' or '.join(kinds)}{wrong[2]}", ""
        what, _, todo = self.what.partition("; ")
        return self.keys, what, todo


def _wrong_key(kind: Any, document: Any, keys: list[str | int], text: str) -> str:
    """Return the key of the dict at `keys` that is, or has, the faulty value: msgspec's message,
    `text`, does not name it."""

    def only(part: Any, keys: list[str | int], key: str) -> Any:
        if not keys:
            return {key: part[key]}
        copy = dict(part) if isinstance(part, Mapping) else list(part)
        copy[keys[0]] = only(part[keys[0]], keys[1:], key)  # type: ignore[index]
        return copy

    table = document
    for each in keys:
        table = table[each]
    for key in table:
        try:
            msgspec.convert(only(document, keys, key), kind)
        except msgspec.ValidationError as error:
            if str(error) == text:
                return str(key)
    raise AssertionError(text)


def _part(type_: Any, *attributes: str) -> Any:
    """Return the first part of a type, as of a union, whose description has such an attribute."""
    while isinstance(type_, inspect.Metadata):
        type_ = type_.type
    parts = type_.types if isinstance(type_, inspect.UnionType) else [type_]
    return next(part for part in parts if any(hasattr(part, name) for name in attributes))


def _type_of(type_: Any, key: str | int) -> Any:
    """Return the type of the value at a key of a list or a table of that type."""
    if isinstance(key, int):
        array = _part(type_, "item_types", "item_type")
        return array.item_types[key] if hasattr(array, "item_types") else array.item_type
    table = _part(type_, "fields", "value_type")
    if hasattr(table, "value_type"):
        return table.value_type
    return next(field.type for field in table.fields if field.encode_name == key)


def _shown(value: Any) -> str:
    """Return a value as a short text."""
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
