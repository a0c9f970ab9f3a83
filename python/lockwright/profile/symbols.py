"""The addresses of a process: file, symbol and, with debug information, source line."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.elf.debug_files import file_with_lines
from lockwright.elf.lines import Line, lines_of
from lockwright.elf.symbols import SymbolTable
from lockwright.profile.frames import Frame
from lockwright.profile.function_names import function


@dataclass(frozen=True)
class Mapping:
    """A mapped file: from `start` to `end`, with addresses relative to `base`."""

    path: str
    start: int
    end: int
    base: int


class Symbols:
    """The resolver of one process's addresses."""

    def __init__(
        self, mappings: Iterable[Mapping], program: str, *, ask_servers: bool = False
    ) -> None:
        """Store the mappings. program: path of the executable, for which the loader has no name;
        ask_servers: for the symbols of stripped files, as in debug_file."""
        self._mappings = [
            mapping if mapping.path else replace(mapping, path=program)
            for mapping in mappings
            if mapping.end
        ]
        self._ask_servers = ask_servers
        self._modules: dict[str, SymbolTable] = {}
        self._frames: dict[int, Frame] = {}
        self._lines: dict[Frame, tuple[Frame, ...]] = {}

    def mapping(self, address: int) -> Mapping | None:
        """Return the file that contains an address; None for the heap, a stack or an unknown
        address."""
        return next(
            (mapping for mapping in self._mappings if mapping.start <= address < mapping.end), None
        )

    def place(self, address: int) -> Frame:
        """Return the frame of data or of an instruction."""
        if address not in self._frames:
            self._frames[address] = self._name(address, address)
        return self._frames[address]

    def caller(self, address: int) -> Frame:
        """Return the frame of a call that returns to `address`."""
        if address not in self._frames:
            self._frames[address] = self._name(address, address - 1)
        return self._frames[address]

    def _name(self, address: int, inside: int) -> Frame:
        mapping = self.mapping(inside)
        if mapping is None:
            return Frame("", address)
        if mapping.path not in self._modules:
            self._modules[mapping.path] = SymbolTable(
                Path(mapping.path), ask_servers=self._ask_servers
            )
        module = self._modules[mapping.path]
        symbol = module.find(inside - mapping.base)
        offset = address - mapping.base
        if symbol is None:
            return Frame(mapping.path, offset)
        return Frame(mapping.path, offset, symbol[0], symbol[1] + address - inside)

    def function(self, frame: Frame) -> tuple[str, str] | None:
        """Return the function that contains a frame: its file and its name, or its start; None if
        unknown."""
        if frame.symbol:
            return frame.module, function(frame.symbol)
        module = self._modules.get(frame.module)
        begin = module.begin(frame.offset - 1) if module is not None else None
        return None if begin is None else (frame.module, f"{begin:#x}")

    def with_lines(self, frames: Iterable[Frame]) -> dict[Frame, tuple[Frame, ...]]:
        """Return each frame with its source line, if known, behind the frames of the functions
        inlined into it, the innermost first."""
        frames = set(frames)
        by_module: defaultdict[str, set[Frame]] = defaultdict(set)
        for frame in frames - self._lines.keys():
            self._lines[frame] = (frame,)
            if frame.module in self._modules:
                by_module[frame.module].add(frame)
        for module, frames_of_module in by_module.items():
            file = file_with_lines(Path(module), ask_servers=self._ask_servers)
            if file is None:
                continue
            # A call returns to the instruction after it, which may be on another line.
            lines = lines_of(file, [frame.offset - 1 for frame in frames_of_module])
            for frame in frames_of_module:
                if frame.offset - 1 in lines:
                    self._lines[frame] = _inlined(frame, lines[frame.offset - 1])
        return {frame: self._lines[frame] for frame in frames}

    def inlined(self, caller: int) -> tuple[Frame, ...]:
        """Return the frames of a call that returns to `caller`: those of inlined functions, the
        innermost first, then that of the function with the symbol."""
        frame = self.caller(caller)
        return self.with_lines([frame])[frame]


def _inlined(frame: Frame, lines: list[Line]) -> tuple[Frame, ...]:
    frames = [replace(frame, symbol=x.function, symbol_offset=0, source=x.source) for x in lines]
    # The outermost is the function that has a symbol.
    symbol = frame.symbol or frames[-1].symbol.replace("??", "")
    frames[-1] = replace(frame, symbol=symbol, source=frames[-1].source)
    # If binutils has no name for the innermost function, it prints the outermost one's.
    if len(frames) > 1 and function(frames[0].symbol) == function(symbol):
        del frames[0]
    return tuple(frames)
