"""The code of inlined functions, from a file's debug information."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lockwright.elf.lines import files_named

_NAMES = ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name", "DW_AT_name")
_DECLARATIONS = ("DW_AT_abstract_origin", "DW_AT_specification")


def inlined_ranges(path: Path, has_name: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return the ranges of addresses in the file of functions that the compiler inlined. has_name:
    whether a symbol, perhaps mangled, is of such a function."""

    def chosen(_: Any, entries: Iterator[Any]) -> Iterator[Any]:
        known: dict[int, bool] = {}
        for entry in entries:
            origin = entry.get_DIE_from_attribute("DW_AT_abstract_origin")
            if origin.offset not in known:
                known[origin.offset] = has_name(_name(origin))
            if known[origin.offset]:
                yield entry

    return _ranges_of(path, chosen)


def inlined_at(path: Path, source: str, line: int) -> list[tuple[int, int]]:
    """Return the ranges of addresses in the file of functions that the compiler inlined into a
    source line, such as std::mutex::lock. source: as in lines.addresses_of."""

    def chosen(program: Any, entries: Iterator[Any]) -> Iterator[Any]:
        files = files_named(program, source)
        for entry in entries if files else ():
            at = entry.attributes
            if at["DW_AT_call_line"].value == line and at["DW_AT_call_file"].value in files:
                yield entry

    return _ranges_of(path, chosen)


def _ranges_of(
    path: Path, chosen: Callable[[Any, Iterator[Any]], Iterator[Any]]
) -> list[tuple[int, int]]:
    """Return the ranges of the inlined functions that `chosen` yields, for each unit from its line
    program and all of its inlined functions."""
    from elftools.elf.elffile import ELFFile

    ranges: set[tuple[int, int]] = set()
    try:
        with path.open("rb") as file:
            dwarf = ELFFile(file).get_dwarf_info()
            for unit in dwarf.iter_CUs():
                entries = (
                    each for each in unit.iter_DIEs() if each.tag == "DW_TAG_inlined_subroutine"
                )
                for entry in chosen(dwarf.line_program_for_CU(unit), entries):
                    ranges.update(_ranges(dwarf, unit, entry))
    except Exception:
        # As in lines.addresses_of: pyelftools raises many kinds for damaged debug information.
        return sorted(ranges)
    return sorted(ranges)


def _name(entry: Any) -> str:
    """Return the symbol of a function, or its name; "" if it has none."""
    while True:
        for attribute in _NAMES:
            if attribute in entry.attributes:
                return str(entry.attributes[attribute].value.decode(errors="replace"))
        declared = next((each for each in _DECLARATIONS if each in entry.attributes), None)
        if declared is None:
            return ""
        entry = entry.get_DIE_from_attribute(declared)


def _ranges(dwarf: Any, unit: Any, entry: Any) -> list[tuple[int, int]]:
    attributes = entry.attributes
    if "DW_AT_ranges" not in attributes:
        if not {"DW_AT_low_pc", "DW_AT_high_pc"} <= attributes.keys():
            return []
        begin, end = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(begin, end.value if end.form == "DW_FORM_addr" else begin + end.value)]
    top = unit.get_top_DIE().attributes
    base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
    ranges = []
    lists = dwarf.range_lists()
    for each in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=unit):
        if hasattr(each, "base_address"):
            base = each.base_address
        else:
            start = 0 if getattr(each, "is_absolute", False) else base
            ranges.append((start + each.begin_offset, start + each.end_offset))
    return ranges
