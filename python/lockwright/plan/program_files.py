"""The files of a program, and their symbols."""

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockwright.base import tool
from lockwright.elf.debug_files import file_with_lines
from lockwright.elf.demangle import demangled
from lockwright.elf.file import load
from lockwright.elf.symbols import symbol_tables
from lockwright.profile.function_names import brief

_VARIABLE, _FUNCTION = 1, 2
_UNDEFINED = 0


@dataclass(frozen=True)
class Symbol:
    """A variable or function of a file. raw: its name in the symbol table, perhaps mangled."""

    raw: str
    begin: int
    end: int
    is_function: bool

    @cached_property
    def name(self) -> str:
        """The name as in the source, as far as the compiler retains it; with parameters for a C++
        function."""
        return demangled(re.sub(r"(\.[a-z]*\.?\d+|\.cold|\.part)+$", "", self.raw))

    def has_name(self, name: str) -> bool:
        """Return whether the name may stand for this symbol."""
        # A cheap test first: the demangled name has no identifier that the raw name lacks.
        if re.split(r"::|[<( ]", name.strip())[-1] not in self.raw and "(" not in name:
            return False
        short = self.name.replace("(anonymous namespace)::", "")
        if name in (self.raw, self.name, short, brief(self.name)):
            return True
        return self.is_function and re.search(rf"(?:^| ){re.escape(name)}[(<\[]", short) is not None


@dataclass(frozen=True)
class File:
    """A program or a library."""

    path: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The file names under which it may be loaded."""
        names = (self.path.name, self.path.resolve().name, load(self.path).soname)
        return tuple(dict.fromkeys(name for name in names if name))

    def has_name(self, name: str) -> bool:
        """Return whether the name is the file's path, one of its names, or one without version."""
        if "/" in name:
            return Path(name).resolve() == self.path.resolve()
        return any(own == name or own.startswith(f"{name}.") for own in self.names)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        symbols = []
        for path, table, names in symbol_tables(self.path, ask_servers=True):
            text = load(path).section(names, 1 << 28)
            for offset, info, _, section, value, size in load(path).symbols(table):
                if info & 15 in (_VARIABLE, _FUNCTION) and section != _UNDEFINED:
                    raw = text[offset : text.find(b"\0", offset)].decode(errors="replace")
                    is_function = info & 15 == _FUNCTION
                    symbols.append(Symbol(raw, value, value + max(size, 1), is_function))
        return tuple(dict.fromkeys(symbols))

    def symbols_named(self, name: str, *, function: bool) -> list[Symbol]:
        """Return the variables or functions that a name may stand for."""
        return [
            symbol
            for symbol in self.symbols
            if symbol.is_function == function and symbol.has_name(name)
        ]

    def ranges_of_variable(self, name: str) -> list[tuple[int, int]]:
        """Return the ranges of the variables that a name may stand for; after a plus sign, the
        offset of a mutex in the variable."""
        variable, _, offset = name.rpartition("+")
        if not variable or not offset.isdecimal():
            return [(each.begin, each.end) for each in self.symbols_named(name, function=False)]
        begins = [
            each.begin + int(offset)
            for each in self.symbols_named(variable, function=False)
            if each.begin + int(offset) < each.end
        ]
        return [(begin, begin + 1) for begin in begins]

    def ranges_of_function(self, name: str) -> list[tuple[int, int]]:
        """Return the ranges of the functions that a name may stand for."""
        return [(each.begin, each.end) for each in self.symbols_named(name, function=True)]

    def ranges_of_inlined(self, name: str, is_chosen: bool) -> list[tuple[int, int]]:
        """Return the ranges of the code of such functions where the compiler inlined them; that
        takes seconds for much debug information. is_chosen: search a separate debug file, too."""
        from lockwright.elf.inlined import inlined_ranges

        lines = file_with_lines(self.path, ask_servers=True)
        if lines is None or not (is_chosen or lines == self.path):
            return []
        return inlined_ranges(lines, lambda raw: Symbol(raw, 0, 0, True).has_name(name))


class Program:
    """A program and the libraries that it is linked with, in the order of their search."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def files(self) -> list[File]:
        """The program, then its libraries."""
        return [File(self.path), *(File(path) for path in _linked(self.path))]

    def file(self, name: str) -> File | None:
        """Return one of the files by name, or any file by its path; None if there is none."""
        if "/" in name:
            path = Path(name)
            return File(path) if path.is_file() else None
        known = next((file for file in self.files if file.has_name(name)), None)
        # A script may start another program, which is found in PATH.
        path_in_path = None if known else shutil.which(name)
        return File(Path(path_in_path)) if path_in_path else known


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
    """Return the name among the symbols that is most similar to `name`."""
    from difflib import get_close_matches

    names = {symbol.name if symbol.raw.startswith("_Z") else symbol.raw for symbol in symbols}
    return next(iter(get_close_matches(name, names, n=1)), None)
