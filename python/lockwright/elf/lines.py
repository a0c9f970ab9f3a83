"""Lines of a program's source from its debug information, in both directions.

Addresses are mapped to lines, inlined functions included, by addr2line or llvm-addr2line where one
is installed, which read large files faster than pyelftools; the opposite direction needs that.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base import tool
from lockwright.elf.demangle import demangled

_SECONDS = 20
"""Time limit for a reader of debug information, which can be large."""


@dataclass(frozen=True)
class Line:
    """A line of the source. function: "??" if unknown; source: file and line, "" if unknown."""

    function: str
    source: str


def lines_of(path: Path, addresses: Sequence[int]) -> dict[int, list[Line]]:
    """Return the source lines of each address in the file, inlined functions first and innermost
    first. Addresses without a known line are left out."""
    reader = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if reader is None:
        return {}
    query = "\n".join(f"{address:#x}" for address in addresses)
    words = [reader, "-a", "-i", "-f", "-e", str(path)]
    answer = tool.call(words, query, seconds=_SECONDS)
    if answer.status is None:
        return {}
    answers = re.split(r"^0x[0-9a-f]+\n", answer.output, flags=re.MULTILINE)[1:]
    by_address = {
        address: _lines(output.splitlines())
        for address, output in zip(addresses, answers, strict=False)
    }
    return {address: lines for address, lines in by_address.items() if any(x.source for x in lines)}


def _lines(answered: list[str]) -> list[Line]:
    """Return the lines. answered: function and source alternately, the innermost first."""
    lines = []
    for name, source in zip(answered[::2], answered[1::2], strict=False):
        path, _, number = source.partition(" ")[0].rpartition(":")
        is_known = number.isdigit() and number != "0" and path != "??"
        lines.append(Line(demangled(name), f"{Path(path).name}:{number}" if is_known else ""))
    return lines


def addresses_of(path: Path, source: str, line: int) -> list[tuple[int, int]]:
    """Return the ranges of addresses in the file that come from a source line. source: the last
    parts of the path of the source file, or all of it."""
    from elftools.elf.elffile import ELFFile

    ranges: list[tuple[int, int]] = []
    try:
        with path.open("rb") as file:
            for program in _programs(ELFFile(file).get_dwarf_info()):
                if files := files_named(program, source):
                    ranges += _ranges(program, files, line)
    except Exception:
        # For damaged debug information pyelftools raises, besides its own errors, KeyError,
        # OverflowError, AssertionError and others, depending on the byte.
        return sorted(set(ranges))
    return sorted(set(ranges))


def _programs(dwarf: Any) -> Iterator[Any]:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is not None:
            yield program


def files_named(program: Any, source: str) -> set[int]:
    """Return the numbers of a source file in a unit's line program, which may be None. source: as
    in addresses_of."""
    if program is None:
        return set()
    parts = Path(source).parts
    return {number for number, name in _files(program) if Path(name).parts[-len(parts) :] == parts}


def _files(program: Any) -> Iterator[tuple[int, str]]:
    """Yield the source files of a unit with the numbers that its lines use."""
    header = program.header
    # The numbers begin at 0 since DWARF 5.
    first = 0 if header["version"] >= 5 else 1
    folders = header["include_directory"]
    for number, entry in enumerate(header["file_entry"], first):
        name = entry.name.decode(errors="replace")
        folder = entry.dir_index - (1 - first)
        if 0 <= folder < len(folders):
            above = folders[folder]
            text = above if isinstance(above, bytes) else bytes(str(above), "utf-8")
            name = str(Path(text.decode(errors="replace")) / name)
        yield number, name


def _ranges(program: Any, files: set[int], line: int) -> Iterator[tuple[int, int]]:
    begin: int | None = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if begin is not None and state.address > begin:
            yield begin, state.address
            begin = None
        if not state.end_sequence and state.line == line and state.file in files:
            begin = state.address if begin is None else begin
        elif begin is not None and state.address == begin:
            begin = None
        if state.end_sequence:
            begin = None
