"""Layouts of the files through which a preloaded library and the command communicate.

The build writes them to `layouts.json`, beside the libraries, from the structs of the C++ code. A
file begins with a magic text and the number of its layout; a library of another layout only writes
its own number there.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockwright.base.errors import LockwrightError
from lockwright.base.shared_files import shared_files
from lockwright.preload import locks

if TYPE_CHECKING:
    import numpy as np

FILE = "layouts.json"
_CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i4": "i", "i8": "q"}
_STAMP = struct.Struct("=8sQ")


@dataclass(frozen=True)
class Field:
    """A field of a struct. type: "u8" and the like for a number, "S" for text, or another struct's
    name. count: more than one for an array."""

    name: str
    type: str
    offset: int
    count: int


@dataclass(frozen=True)
class Struct:
    """A struct of the libraries: its size and its fields."""

    bytes: int
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Layouts:
    """All structs, and the constants that their fields refer to, by their C++ names."""

    source: Path
    structs: Mapping[str, Struct]
    constants: Mapping[str, int]

    def dtype(self, name: str) -> "np.dtype[Any]":
        """Return a struct as a numpy type."""
        import numpy as np

        struct = self.structs[name]
        types: list[Any] = []
        for field in struct.fields:
            if field.type == "S":
                types.append(f"S{field.count}")
                continue
            element = self.dtype(field.type) if field.type in self.structs else field.type
            types.append(element if field.count == 1 else (element, field.count))
        return np.dtype(
            {
                "names": [field.name for field in struct.fields],
                "formats": types,
                "offsets": [field.offset for field in struct.fields],
                "itemsize": struct.bytes,
            }
        )

    def values(self, name: str, data: bytes, offset: int = 0) -> dict[str, Any]:
        """Return the fields of a struct in `data`, without numpy: an array is a tuple."""
        return {
            field.name: self._value(field, data, offset + field.offset)
            for field in self.structs[name].fields
        }

    def _value(self, field: Field, data: bytes, offset: int) -> Any:
        if field.type == "S":
            return data[offset : offset + field.count].split(b"\0", 1)[0]
        if field.type in self.structs:
            size = self.structs[field.type].bytes
            starts = range(offset, offset + size * field.count, size)
            values = tuple(self.values(field.type, data, start) for start in starts)
        else:
            values = struct.unpack_from(f"={field.count}{_CODES[field.type]}", data, offset)
        return values if field.count > 1 else values[0]

    def number(self, name: str) -> int:
        """Return the number of a struct's layout: FNV-1a over its fields, as layout_number() of
        src/interpose/layout.hpp."""
        words: list[int] = []
        for field in self.structs[name].fields:
            nested = self.structs.get(field.type)
            scalar = 1 if field.type == "S" else int(field.type[1:]) if nested is None else 0
            words += (field.name + field.type).encode()
            words += [field.offset, field.count, nested.bytes if nested else scalar]
            words.append(self.number(field.type) if nested else 0)
        number = 0xCBF29CE484222325
        for word in [*words, self.structs[name].bytes]:
            number = (number ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return number

    def field(self, name: str, field: str) -> Field:
        """Return a field of a struct."""
        return next(each for each in self.structs[name].fields if each.name == field)

    @contextmanager
    def new_file(self, name: str, magic: bytes, what: str, more: int = 0) -> Iterator[Path]:
        """Create a file with an empty struct in it, and `more` empty ones beside it, as
        shared_files() does; yield its path."""
        with shared_files(self.structs[name].bytes, what, more) as path:
            with path.open("r+b") as file:
                file.write(_STAMP.pack(magic, self.number(name)))
            yield path

    def check(self, name: str, data: bytes) -> None:
        """Raise LockwrightError if a library of another layout has opened the file."""
        if _STAMP.unpack_from(data)[1] != self.number(name):
            raise LockwrightError(
                f"{self.source} does not belong to the loaded library, whose {name} differs",
                "build or install Lockwright again",
            )


def layouts(folder: Path | None = None) -> Layouts:
    """Read layouts.json. Raises LockwrightError if it is missing or malformed. folder: the
    directory of the libraries; None for `locks.directory()`."""
    return _read((folder or locks.directory()) / FILE)


@cache
def _read(source: Path) -> Layouts:
    try:
        document = json.loads(source.read_text(encoding="utf-8"))
        structs = {
            name: Struct(struct["bytes"], tuple(Field(*field) for field in struct["fields"]))
            for name, struct in document["structs"].items()
        }
        return Layouts(source, structs, document["constants"])
    except OSError as error:
        raise LockwrightError(
            f"cannot read {source}: {error.strerror}", locks.missing_advice()
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LockwrightError(
            f"{source} does not describe layouts ({error})", "build or install Lockwright again"
        ) from error
