"""What an address in a program is called: file, symbol and, with debug information, line.

Symbols are read from the files themselves; lines by addr2line or llvm-symbolizer where one of them
is installed.
"""

import ctypes
import re
import shutil
import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.base import elf, tool
from lockwright.profile.functions import function
from lockwright.profile.record import Frame

_SYMBOL = np.dtype(
    [
        ("name", "u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "u2"),
        ("value", "u8"),
        ("size", "u8"),
    ]
)
_OBJECT, _FUNCTION, _INDIRECT = 1, 2, 10
_EH_FRAME = 0x6474E550
_MOST_BYTES = 1 << 28
_SECONDS = 20
"""For which to wait for a reader of debug information, which can be large."""


@dataclass(frozen=True)
class Mapping:
    """A file in memory: from `start` to `end`, with addresses that count from `base`."""

    path: str
    start: int
    end: int
    base: int


class Module:
    """The symbols of a file."""

    def __init__(self, path: Path) -> None:
        """Nothing is read until it is asked for."""
        self.path = path

    def find(self, offset: int) -> tuple[str, int] | None:
        """The symbol in which an offset lies, and how far in it; None if there is none."""
        symbols, names = self._table
        at = int(np.searchsorted(symbols["value"], offset, side="right")) - 1
        if at < 0:
            return None
        symbol = symbols[at]
        value, size = int(symbol["value"]), int(symbol["size"])
        if size and offset >= value + size:
            return None
        start = int(symbol["name"])
        raw = names[start : names.index(b"\0", start)].decode(errors="replace")
        return demangled(raw), offset - value

    def begin(self, offset: int) -> int | None:
        """Where the function begins in which an offset lies, by the tables for unwinding, which a
        file without symbols has too; None if they do not say."""
        at = int(np.searchsorted(self._begins, offset, side="right")) - 1
        return int(self._begins[at]) if at >= 0 else None

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        """The sorted table of .eh_frame_hdr: its version, the encodings of what follows, a pointer,
        a number, and for each function two offsets from the section's address (Linux Standard
        Base, Core, 10.6.2)."""
        address, data = elf.segment(self.path, _EH_FRAME, _MOST_BYTES)
        if data[:1] != b"\x01" or data[2:4] != b"\x03\x3b":
            return np.zeros(0, np.int64)
        pairs = np.frombuffer(data[12 : 12 + (len(data) - 12) // 8 * 8], np.int32)
        return np.sort(pairs[::2].astype(np.int64) + address)

    @cached_property
    def has_lines(self) -> bool:
        """Whether there is anything to read lines from."""
        return ".debug_line" in elf.sections(self.path)

    @cached_property
    def _table(self) -> tuple[NDArray[Any], bytes]:
        """Functions and variables by their offsets, and the text that their names lie in."""
        places = [(path, ".symtab", ".strtab") for path in (self.path, *self._separate())]
        for path, table, names in (*places, (self.path, ".dynsym", ".dynstr")):
            data = elf.section(path, table, _MOST_BYTES)
            size = _SYMBOL.itemsize
            symbols = np.frombuffer(data[: len(data) // size * size], _SYMBOL)
            is_wanted = np.isin(symbols["info"] & 15, (_OBJECT, _FUNCTION, _INDIRECT))
            symbols = symbols[is_wanted & (symbols["section"] != 0)]
            if len(symbols):
                # Of several at one place the largest says most.
                order = np.lexsort((symbols["size"], symbols["value"]))
                return symbols[order], elf.section(path, names, _MOST_BYTES) + b"\0"
        return np.zeros(0, _SYMBOL), b""

    def _separate(self) -> list[Path]:
        """Where the distribution keeps symbols that were taken out of the file."""
        note = elf.section(self.path, ".note.gnu.build-id")
        if len(note) < 20:
            return []
        (name, size) = struct.unpack_from("=II", note)
        identity = note[12 + (name + 3) // 4 * 4 :][:size].hex()
        path = Path(f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug")
        return [path] if path.is_file() else []


class Symbols:
    """Names for the addresses of one process."""

    def __init__(self, mappings: Iterable[Mapping], program: str) -> None:
        """program: the path of what the process runs, for which the loader has no name."""
        self._mappings = [
            each if each.path else replace(each, path=program) for each in mappings if each.end
        ]
        self._modules: dict[str, Module] = {}
        self._frames: dict[int, Frame] = {}

    def mapping(self, address: int) -> Mapping | None:
        """The file that an address lies in; None for the heap, a stack or what is unknown."""
        return next((each for each in self._mappings if each.start <= address < each.end), None)

    def place(self, address: int) -> Frame:
        """The place of data, or of an instruction."""
        if address not in self._frames:
            self._frames[address] = self._name(address, address)
        return self._frames[address]

    def caller(self, address: int) -> Frame:
        """The place of a call that returns to `address`."""
        if address not in self._frames:
            self._frames[address] = self._name(address, address - 1)
        return self._frames[address]

    def _name(self, address: int, inside: int) -> Frame:
        mapping = self.mapping(inside)
        if mapping is None:
            return Frame("", address)
        module = self._modules.setdefault(mapping.path, Module(Path(mapping.path)))
        found = module.find(inside - mapping.base)
        offset = address - mapping.base
        if found is None:
            return Frame(mapping.path, offset)
        return Frame(mapping.path, offset, found[0], found[1] + address - inside)

    def function(self, frame: Frame) -> tuple[str, str] | None:
        """What a call that returns to a frame is in: the file and a name, or where it begins; None
        if that is not known."""
        if frame.symbol:
            return frame.module, function(frame.symbol)
        module = self._modules.get(frame.module)
        begin = module.begin(frame.offset - 1) if module is not None else None
        return None if begin is None else (frame.module, f"{begin:#x}")

    def with_lines(self, frames: Iterable[Frame]) -> dict[Frame, tuple[Frame, ...]]:
        """Each frame with its line, where that can be found, behind those of the functions that
        the compiler put into it, the innermost first."""
        wanted: defaultdict[str, set[Frame]] = defaultdict(set)
        for frame in frames:
            if frame.module and self._modules.get(frame.module, Module(Path())).has_lines:
                wanted[frame.module].add(frame)
        return {
            frame: expanded
            for module, some in wanted.items()
            for frame, expanded in _lines(module, list(some)).items()
        }


def _lines(module: str, frames: list[Frame]) -> dict[Frame, tuple[Frame, ...]]:
    reader = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if reader is None:
        return {}
    # A call returns to the instruction after it, which may be on another line.
    asked = "\n".join(f"{frame.offset - 1:#x}" for frame in frames)
    words = [reader, "-a", "-i", "-f", "-C", "-e", module]
    answer = tool.call(words, asked, seconds=_SECONDS)
    if answer.status is None:
        return {}
    answers = re.split(r"^0x[0-9a-f]+\n", answer.output, flags=re.MULTILINE)[1:]
    return {
        frame: expanded
        for frame, lines in zip(frames, answers, strict=False)
        if (expanded := _expanded(frame, lines.splitlines()))
    }


def _expanded(frame: Frame, lines: list[str]) -> tuple[Frame, ...]:
    """lines: function and place in turn, the innermost first."""
    found = []
    for name, where in zip(lines[::2], lines[1::2], strict=False):
        path, _, number = where.partition(" ")[0].rpartition(":")
        is_known = number.isdigit() and number != "0" and path != "??"
        source = f"{Path(path).name}:{number}" if is_known else ""
        found.append(replace(frame, symbol=name, symbol_offset=0, source=source))
    if not found or not any(each.source for each in found):
        return ()
    # The outermost is the function that the symbols know.
    symbol = frame.symbol or found[-1].symbol.replace("??", "")
    found[-1] = replace(frame, symbol=symbol, source=found[-1].source)
    # Where binutils has no name for the innermost function it gives the outermost one's.
    if len(found) > 1 and function(found[0].symbol) == function(symbol):
        del found[0]
    return tuple(found)


def demangled(name: str) -> str:
    """A C++ name as it is written; others as they are."""
    if not name.startswith("_Z"):
        return name
    if name not in _demangled:
        _demangled[name] = _demangle(name)
    return _demangled[name]


_demangled: dict[str, str] = {}
_runtime: list[ctypes.CDLL] = []


def _demangle(name: str) -> str:
    if not _runtime:
        try:
            _runtime.append(ctypes.CDLL("libstdc++.so.6"))
        except OSError:
            return name
    demangle = _runtime[0].__cxa_demangle
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    result = demangle(name.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or not result:
        return name
    text = ctypes.string_at(result).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(result))
    return text
