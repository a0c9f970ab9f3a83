"""The files of a program, and their symbols."""

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockwright.base import tool
from lockwright.elf.demangle import demangled
from lockwright.elf.file import load

_VARIABLE, _FUNCTION = 1, 2
_UNDEFINED = 0


@dataclass(frozen=True)
class Symbol:
    """name: as it is written in the source, with parameters where it is a C++ function."""

    raw: str
    begin: int
    end: int
    is_function: bool

    @cached_property
    def name(self) -> str:
        """The name as in the source, as far as the compiler has kept it."""
        return demangled(re.sub(r"(\.[a-z]*\.?\d+|\.cold|\.part)+$", "", self.raw))

    def is_called(self, name: str) -> bool:
        """Whether a user may mean this symbol by that name."""
        # What is not in it cannot be in what is made of it.
        if re.split(r"::|[<( ]", name.strip())[-1] not in self.raw and "(" not in name:
            return False
        mine = self.name.replace("(anonymous namespace)::", "")
        if name in (self.raw, self.name, mine):
            return True
        return self.is_function and re.search(rf"(?:^| ){re.escape(name)}[(<\[]", mine) is not None


@dataclass(frozen=True)
class File:
    """A program or a library."""

    path: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The file names under which it may be loaded."""
        names = (self.path.name, self.path.resolve().name, load(self.path).soname)
        return tuple(dict.fromkeys(name for name in names if name))

    def is_called(self, name: str) -> bool:
        """By a path, by any of its names, or by one without the version."""
        if "/" in name:
            return Path(name).resolve() == self.path.resolve()
        return any(each == name or each.startswith(f"{name}.") for each in self.names)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Its variables and functions."""
        found = []
        for table, names in ((".symtab", ".strtab"), (".dynsym", ".dynstr")):
            text = load(self.path).section(names, 1 << 28)
            for at, info, _, where, value, size in load(self.path).symbols(table):
                if info & 15 in (_VARIABLE, _FUNCTION) and where != _UNDEFINED:
                    raw = text[at : text.find(b"\0", at)].decode(errors="replace")
                    kind = info & 15 == _FUNCTION
                    found.append(Symbol(raw, value, value + max(size, 1), kind))
        return tuple(dict.fromkeys(found))

    def named(self, name: str, *, function: bool) -> list[Symbol]:
        """The variables or functions that a user may mean by a name."""
        return [
            each for each in self.symbols if each.is_function == function and each.is_called(name)
        ]


class Program:
    """A program and the libraries that it is linked with, in the order of their search."""

    def __init__(self, path: Path) -> None:
        """Runs the dynamic linker, which lists the libraries; the program itself is not started."""
        self.path = path

    @cached_property
    def files(self) -> list[File]:
        """The program first."""
        return [File(self.path), *(File(path) for path in _linked(self.path))]

    def file(self, name: str) -> File | None:
        """One of the files, or another by its path."""
        if "/" in name:
            path = Path(name)
            return File(path) if path.is_file() else None
        known = next((each for each in self.files if each.is_called(name)), None)
        # What a script or another program starts.
        found = None if known else shutil.which(name)
        return File(Path(found)) if found else known


def _linked(program: Path) -> Iterator[Path]:
    header = load(program).header
    if header is None or header.interpreter is None:
        return
    listed = tool.call([header.interpreter, "--list", program], seconds=20)
    for line in listed.output.splitlines():
        match = re.match(r"\s*(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", line)
        if match:
            yield Path(match[1])


def nearest_name(name: str, symbols: Iterable[Symbol]) -> str | None:
    """The most similar name of the symbols."""
    from difflib import get_close_matches

    some = {each.raw for each in symbols if not each.raw.startswith("_Z")}
    some |= {each.name for each in symbols if each.raw.startswith("_Z")}
    found = get_close_matches(name, some, n=1)
    return found[0] if found else None
