"""The resolution of a plan's entries to files of a program, and ranges of addresses in them."""

import re
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.elf.debug_files import file_with_lines
from lockwright.plan.program_files import File, Program, nearest_name
from lockwright.plan.read import SUBJECTS, Entry, Plan
from lockwright.plan.rules import (
    BY_ANY,
    BY_FIRST_USE,
    BY_INITIALISER,
    BY_LIBRARY,
    BY_SITE,
    BY_VARIABLE,
    END,
    Range,
    Rule,
)

_IN_FILE = re.compile(r"(?P<file>[^:]+):(?!:)(?P<name>.+)")
_LINE = re.compile(r"(?P<source>.+):(?P<line>[0-9]+)")
_OFFSET = re.compile(r"(?P<file>.+)\+0x(?P<offset>[0-9a-fA-F]+)")

_PRINTED = re.compile(
    r"(?:lock taken in |locks (?:created|first taken) in )?(?P<name>.+?)"
    r"(?: \((?P<at>[^()]+:\d+|\+0x[0-9a-f]+)\))?(?P<via> \(via .*\))?(?: #(?P<ordinal>\d+))?"
)
"""A mutex or a site as a profile names it."""

_LONGEST_CALL = 6
"""Bytes of the longest call: a site may be named by the address of the call or by its return
address."""


def resolve(plan: Plan, program: Path) -> list[Rule]:
    """Return a rule for each entry, in the plan's order. Raises LockwrightError if the program has
    no such variable, function, line or library."""
    files = Program(program)
    return [_rule(f"{plan.path}, {entry.title}", entry, files) for entry in plan.entries]


def _rule(context: str, entry: Entry, program: Program) -> Rule:
    if entry.rank is not None:
        return _rule_of_rank(context, entry)
    if entry.symbol is not None:
        by, ranges = (
            BY_VARIABLE,
            _ranges_of_symbol(context, entry.symbol, entry.in_library, program, False),
        )
    elif entry.site is not None:
        return _rule_of_site(context, entry, entry.site, program)
    elif entry.in_library is not None:
        by, ranges = BY_LIBRARY, [Range(_file(context, entry.in_library, program).names, 0, END)]
    else:
        by, ranges = BY_ANY, []
    return Rule(entry, by, tuple(ranges), entry.ordinal)


def _file(context: str, name: str, program: Program) -> File:
    file = program.file(name)
    if file is None:
        from difflib import get_close_matches

        known = [known_file.path.name for known_file in program.files]
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise LockwrightError(
            f"{context}: {program.path.name} is not linked with '{name}'",
            f"{hint}A file that is loaded later is named by its path",
        )
    return file


def _rule_of_site(context: str, entry: Entry, site: str, program: Program) -> Rule:
    """Return the rule of a site, or of a mutex by the name that a profile prints."""
    printed = _PRINTED.fullmatch(site)
    assert printed is not None
    name, at, ordinal = printed["name"], printed["at"], entry.ordinal
    if printed["via"]:
        raise LockwrightError(
            f"{context}: '{site}' is behind a function that takes mutexes for its callers",
            "name it by the keys 'profile' and 'rank', or name that function",
        )
    if printed["ordinal"] and ordinal is None:
        ordinal = int(printed["ordinal"])
    ranges = _site(context, name, entry.in_library, program, name != site)
    if at:
        # The function may have several sites.
        line = _LINE.fullmatch(at)
        exact = (
            _ranges_of_line(context, line["source"], int(line["line"]), entry.in_library, program)
            if line
            else [Range(ranges[0].names, int(at, 16) - 1, int(at, 16) + _LONGEST_CALL)]
        )
        ranges = [part for one in ranges for other in exact if (part := one.common(other))] or exact
    return Rule(entry, BY_SITE, tuple(ranges), ordinal)


def _site(
    context: str, site: str, library: str | None, program: Program, is_printed: bool
) -> list[Range]:
    offset = _OFFSET.fullmatch(site)
    if offset is not None:
        address = int(offset["offset"], 16)
        names = _file(context, offset["file"], program).names
        return [Range(names, max(0, address - 1), address + _LONGEST_CALL)]
    line = _LINE.fullmatch(site)
    if line is not None:
        return _ranges_of_line(context, line["source"], int(line["line"]), library, program)
    return _ranges_of_symbol(context, site, library, program, True, is_printed)


def _ranges_of_symbol(
    context: str,
    name: str,
    library: str | None,
    program: Program,
    is_function: bool,
    is_printed: bool = False,
) -> list[Range]:
    """Return the ranges of the matching symbols in the first file that has any. is_printed: the
    name is a profile's, which may be of inlined code of a function that has a symbol, too."""
    in_file = _IN_FILE.fullmatch(name)
    if in_file is not None and library is None:
        library, name = in_file["file"], in_file["name"]
    files = program.files if library is None else [_file(context, library, program)]
    for file in files:
        found = file.ranges_of_function(name) if is_function else file.ranges_of_variable(name)
        if is_function and (is_printed or not found):
            found += file.ranges_of_inlined(name, library is not None or file is files[0])
        if found:
            return [Range(file.names, begin, end) for begin, end in found]
    what = "function" if is_function else "variable"
    known = (symbol for symbol in files[0].symbols if symbol.is_function == is_function)
    near = nearest_name(name, known)
    raise LockwrightError(
        f"{context}: {files[0].path.name} has no {what} '{name}'", _advice(near, files[0])
    )


def _advice(near: str | None, file: File) -> str:
    if near is not None:
        return f"did you mean {near}?"
    if not any(file.symbols):
        return "it is stripped of its symbols: name a site by its offset, or a library"
    return "check the name; 'nm -C' lists what the file has"


def _ranges_of_line(
    context: str, source: str, line: int, library: str | None, program: Program
) -> list[Range]:
    from lockwright.elf.inlined import inlined_at
    from lockwright.elf.lines import addresses_of

    in_file = _IN_FILE.fullmatch(source)
    if in_file is not None and library is None:
        library, source = in_file["file"], in_file["name"]
    files = program.files if library is None else [_file(context, library, program)]
    with_lines = [(file, file_with_lines(file.path, ask_servers=True)) for file in files]
    searched = [(file, path) for file, path in with_lines if path is not None]
    for file, path in searched:
        ranges = addresses_of(path, source, line)
        if ranges or path == file.path or file is files[0]:
            ranges += inlined_at(path, source, line)
        if ranges:
            return [Range(file.names, begin, end) for begin, end in ranges]
    if not searched:
        raise LockwrightError(
            f"{context}: {files[0].path.name} has no line numbers",
            "build it with -g, or name the function or the offset",
        )
    names = ", ".join(dict.fromkeys(file.path.name for file, _ in searched))
    raise LockwrightError(
        f"{context}: no code of {names} is of {source}:{line}",
        "name the line of the call that initialises the mutex, or that takes it first",
    )


def _rule_of_rank(context: str, entry: Entry) -> Rule:
    from lockwright.profile import record

    assert entry.profile is not None
    assert entry.rank is not None
    profile = record.read(entry.profile)
    profiled = profile.rwlocks if entry.table == "rwlock" else profile.mutexes
    if entry.rank > len(profiled):
        raise LockwrightError(
            f"{context}: {entry.profile.name} has {len(profiled)} {SUBJECTS[entry.table][1]}, and"
            f" none of rank {entry.rank}",
            "the rank of the one that costs most is 1",
        )
    place = profiled[entry.rank - 1].place
    if not place.frame.module:
        raise LockwrightError(
            f"{context}: the profile does not say where the {entry.subject} of rank {entry.rank}"
            " comes from",
            "name it by its symbol or site",
        )
    match = {record.OBJECT: BY_VARIABLE, record.CREATED: BY_INITIALISER}.get(
        place.kind, BY_FIRST_USE
    )
    offset = place.frame.offset
    # The profile has the return address of a call.
    begin = offset if match == BY_VARIABLE else max(0, offset - 1)
    ordinal = None if match == BY_VARIABLE or place.ordinal < 0 else place.ordinal
    return Rule(
        entry, match, (Range(File(Path(place.frame.module)).names, begin, offset + 1),), ordinal
    )
