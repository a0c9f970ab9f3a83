"""The symbols of a program or a library, by address."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.elf.debug_files import debug_file
from lockwright.elf.demangle import demangled
from lockwright.elf.file import load

_SYMBOL = np.dtype(
    {
        "names": ["name", "info", "other", "section", "value", "size"],
        "formats": ["u4", "u1", "u1", "u2", "u8", "u8"],
    }
)
_OBJECT, _FUNCTION, _INDIRECT = 1, 2, 10
_ABSOLUTE = 0xFFF1
"""The section of symbols that are not addresses, such as those of versions."""
_EH_FRAME = 0x6474E550
_MOST_BYTES = 1 << 28


class SymbolTable:
    """The symbols of a file, by their addresses."""

    def __init__(self, path: Path, *, ask_servers: bool = False) -> None:
        """ask_servers: as in debug_file."""
        self.path = path
        self._ask_servers = ask_servers

    def find(self, offset: int) -> tuple[str, int] | None:
        """Return the symbol that contains an offset, and the offset from its start, or None."""
        symbols, names = self._table
        index = int(np.searchsorted(symbols["value"], offset, side="right")) - 1
        if index < 0:
            return None
        symbol = symbols[index]
        value, size = int(symbol["value"]), int(symbol["size"])
        if size and offset >= value + size:
            return None
        start = int(symbol["name"])
        end = names.find(b"\0", start)
        if end < 0:
            return None
        return demangled(names[start:end].decode(errors="replace")), offset - value

    def begin(self, offset: int) -> int | None:
        """Return the start of the function that contains an offset, by the unwind tables, which a
        file without symbols has too; None if they do not cover it."""
        index = int(np.searchsorted(self._begins, offset, side="right")) - 1
        return int(self._begins[index]) if index >= 0 else None

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        """The sorted table of .eh_frame_hdr: its version, the encodings of what follows, a pointer,
        a number, and for each function two offsets from the section's address (Linux Standard
        Base, Core, 10.6.2)."""
        address, data = load(self.path).segment(_EH_FRAME, _MOST_BYTES)
        # No program is mapped at an address that does not fit.
        if data[:1] != b"\x01" or data[2:4] != b"\x03\x3b" or address >= 1 << 62:
            return np.zeros(0, np.int64)
        pairs = np.frombuffer(data[12 : 12 + (len(data) - 12) // 8 * 8], np.int32)
        return np.sort(pairs[::2].astype(np.int64) + address)

    @cached_property
    def _table(self) -> tuple[NDArray[Any], bytes]:
        """Functions and variables by their offsets, and the string table of their names."""
        for path, table, names in symbol_tables(self.path, ask_servers=self._ask_servers):
            data = load(path).section(table, _MOST_BYTES)
            size = _SYMBOL.itemsize
            symbols = np.frombuffer(data[: len(data) // size * size], _SYMBOL)
            is_wanted = np.isin(symbols["info"] & 15, (_OBJECT, _FUNCTION, _INDIRECT))
            symbols = symbols[is_wanted & ~np.isin(symbols["section"], (0, _ABSOLUTE))]
            if len(symbols):
                # Of several symbols at one address, the largest is found first.
                order = np.lexsort((symbols["size"], symbols["value"]))
                return symbols[order], load(path).section(names, _MOST_BYTES) + b"\0"
        return np.zeros(0, _SYMBOL), b""


def symbol_tables(path: Path, *, ask_servers: bool) -> Iterator[tuple[Path, str, str]]:
    """Yield the tables of symbols of a program or library, each as a file and the sections of the
    symbols and of their names: its own, that of its separate debug file if it is stripped, and
    that of the symbols that it exports. ask_servers: as in debug_file."""
    yield path, ".symtab", ".strtab"
    if ".symtab" not in load(path).sections:
        separate = debug_file(path, ask_servers=ask_servers)
        if separate is not None:
            yield separate, ".symtab", ".strtab"
    yield path, ".dynsym", ".dynstr"
