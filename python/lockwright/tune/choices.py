"""The values of each dimension that can be tried with a program on this machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.machine import pinning
from lockwright.preload import allocators
from lockwright.run import inherited
from lockwright.run.settings import (
    BATCH,
    COMPACT,
    DIMENSIONS,
    HUGE,
    NONE,
    SCATTER,
    SMALL,
    Settings,
    huge_page_mode,
    processors_of,
)


@dataclass(frozen=True)
class Choices:
    """The values to try by dimension, and a line for each one that cannot be tried."""

    values: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()


def dimensions_of(text: str) -> tuple[str, ...]:
    """Return the dimensions of a comma-separated list. Raises LockwrightError for unknown ones."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for name in names or ("",):
        if name not in DIMENSIONS:
            raise LockwrightError(
                f"--with '{name}' is none of {', '.join(DIMENSIONS)}",
                nearest_hint(name, DIMENSIONS, "name one or more of them, with commas"),
            )
    return tuple(name for name in DIMENSIONS if name in names)


def find_choices(
    dimensions: Sequence[str], program: Path, environment: Mapping[str, str], threads: int
) -> Choices:
    """Return what can be tried. program: the one that is executed, not a script; threads: 0 if
    unknown. Raises LockwrightError if nothing can be tried."""
    values: dict[str, tuple[str, ...]] = {}
    left_out: list[str] = []
    for name in dimensions:
        found, without = _FINDERS[name](program, environment, threads)
        values[name] = tuple(found)
        left_out += without
    if not any(values.values()):
        raise LockwrightError(
            f"nothing can be tried: {'; '.join(left_out)}", "leave out --with to search locks only"
        )
    return Choices({name: found for name, found in values.items() if found}, tuple(left_out))


_Found = tuple[list[str], list[str]]


def _allocators(program: Path, environment: Mapping[str, str], _: int) -> _Found:
    found, left_out = [], []
    for name in allocators.KNOWN:
        try:
            Settings(allocator=name).check(program, environment)
            found.append(name)
        except LockwrightError as error:
            left_out.append(f"{error.what}; {error.todo}")
    # A program with its own allocator refuses all of them for the same reason.
    return found, list(dict.fromkeys(left_out))


def _pinnings(_: Path, __: Mapping[str, str], threads: int) -> _Found:
    usable = pinning.usable_processors()
    if len(usable) < 2:
        return [], ["the program may use only one processor, so there is nothing to pin"]
    count = threads if 0 < threads < len(usable) else len(usable) // 2
    by_processors: dict[tuple[int, ...], str] = {}
    left_out = []
    for text in dict.fromkeys((f"{COMPACT}:{count}", f"{SCATTER}:{count}", f"{COMPACT}:1")):
        same = by_processors.setdefault(processors_of(text, usable), text)
        if same != text:
            left_out.append(f"{text} is the same processors as {same} here")
    return list(by_processors.values()), left_out


def _policies(_: Path, __: Mapping[str, str], ___: int) -> _Found:
    left_out = ["real-time policies and a higher priority need privileges (CAP_SYS_NICE)"]
    try:
        with inherited.passed_on((), batch=True, small_pages=False):
            return [BATCH], left_out
    except OSError as error:
        return [], [f"the system refuses SCHED_BATCH: {error.strerror}", *left_out]


def _pages(program: Path, environment: Mapping[str, str], _: int) -> _Found:
    found, left_out = [], []
    wanted = [HUGE]
    if huge_page_mode() == "always":
        wanted.append(SMALL)
    for value in wanted:
        try:
            settings = Settings(pages=value)
            settings.check(program, environment)
            if value == HUGE:
                # Without another allocator, the C library's asks for the pages.
                allocators.check_replaceable(allocators.KNOWN["glibc-retain"], program, environment)
            found.append(value)
        except LockwrightError as error:
            left_out.append(f"{error.what}; {error.todo}")
    left_out.append("reserved huge pages (hugetlbfs) need privileges: sysctl vm.nr_hugepages=N")
    return found, left_out


_FINDERS: Mapping[str, Callable[[Path, Mapping[str, str], int], _Found]] = {
    "allocator": _allocators,
    "pinning": _pinnings,
    "scheduler": _policies,
    "pages": _pages,
}


def is_possible(settings: Settings) -> bool:
    """Return whether these settings can be combined: not every allocator has huge pages."""
    if settings == NONE or settings.pages != HUGE:
        return True
    allocator = settings.chosen_allocator
    return allocator is None or allocator.has_huge_pages
