"""Which functions take a lock, and whether its users can change it at all: by the names of
functions and files in the stacks of a profile."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from lockwright.profile.frames import Frame
from lockwright.profile.function_names import function, without_arguments
from lockwright.profile.record import Mutex, Site
from lockwright.profile.waiting import WaitSite

FEW = 0.05
"""Least share of a function in the use of a lock at which it counts as a user."""

_ALLOCATOR_FILES = (
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libhoard",
    "libscudo",
    "librpmalloc",
)

_ALLOCATOR = re.compile(
    r"(_rjem_|je_|tc_|mi_|scudo_|rp|scalable_|__libc_|_int_|__)?"
    r"(malloc|calloc|realloc|c?free|mallocx|sdallocx|memalign|aligned_alloc|posix_memalign)"
    r"|malloc_mutex_lock\w*|arena_(malloc|dalloc|get)\w*|sysmalloc|operator (new|delete)(\[\])?"
)
"""Functions of memory allocators: of the C library, and the names that others give theirs."""

_INTERPRETER = "Python's interpreter lock"
"""The beginning of its name, which profile/mutex_lines.py gives."""

_NEAREST = 4
"""Innermost frames of a stack in which an allocator takes its lock for a caller."""


def is_of_allocator(frames: Iterable[Frame]) -> bool:
    """Return whether any of the frames is of a memory allocator."""
    return any(
        Path(frame.module).name.startswith(_ALLOCATOR_FILES)
        or _ALLOCATOR.fullmatch(name(frame).partition("@")[0]) is not None
        for frame in frames
    )


def is_allocators(mutex: Mutex) -> bool:
    """Return whether a mutex is a memory allocator's: one created it, or takes it."""
    first = (mutex.place.frame, *mutex.place.stack[:1])
    return is_of_allocator((*first, *(site.stack[0] for site in mutex.sites if site.stack)))


def is_interpreters(mutex: Mutex) -> bool:
    """Return whether a mutex is that of an interpreter, without which none of its code runs."""
    return mutex.name.startswith(_INTERPRETER)


def allocates(site: WaitSite) -> bool:
    """Return whether threads wait there for a lock of a memory allocator."""
    return is_of_allocator(site.stack[: max(site.wrappers, _NEAREST)])


def name(frame: Frame) -> str:
    """Return the function of a frame without its arguments; its file and offset if unknown."""
    return without_arguments(function(frame.symbol)) or f"{frame.module}+{frame.offset:#x}"


def users(sites: Iterable[tuple[Site | WaitSite, float]]) -> list[str]:
    """Return the functions that take a lock, most use first. sites: each with its use, for instance
    the number of acquisitions; without any use, all of them count alike."""
    uses: defaultdict[str, float] = defaultdict(float)
    known = [(site, use) for site, use in sites if site.stack]
    for site, use in known:
        uses[name(site.stack[min(site.wrappers, len(site.stack) - 1)])] += use
    total = sum(uses.values())
    most = sorted(uses, key=lambda each: -uses[each])
    return [each for each in most if uses[each] >= FEW * total]
