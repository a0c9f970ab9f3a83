"""Where in a program the code of a line of its source lies, by its debug information."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def addresses(path: Path, source: str, line: int) -> list[tuple[int, int]]:
    """Ranges of addresses, as the file counts them, that come from a line.

    source: the last parts of the path of the source file, or all of it. Empty where there are none.
    """
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    wanted = Path(source).parts
    found: list[tuple[int, int]] = []
    try:
        with path.open("rb") as file:
            for program in _programs(ELFFile(file).get_dwarf_info()):
                files = [
                    number
                    for number, name in _files(program)
                    if Path(name).parts[-len(wanted) :] == wanted
                ]
                if files:
                    found += _ranges(program, set(files), line)
    except (OSError, ELFError, DWARFError):
        return found
    return sorted(set(found))


def _programs(dwarf: Any) -> Iterator[Any]:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is not None:
            yield program


def _files(program: Any) -> Iterator[tuple[int, str]]:
    """The source files of a unit, by the numbers that its lines call them by."""
    header = program.header
    # They are counted from 0 since DWARF 5.
    first = 0 if header["version"] >= 5 else 1
    folders = [
        bytes(each) if isinstance(each, bytes) else each for each in header["include_directory"]
    ]
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
