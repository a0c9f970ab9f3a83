"""What a futex is that a thread sleeps in: by the functions on its stack, the file that has its
word, and the value that it waits to change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from lockwright.preload import binary
from lockwright.profile import libraries
from lockwright.profile.frames import Frame
from lockwright.profile.function_names import function, without_arguments
from lockwright.profile.lock_functions import is_known
from lockwright.profile.mutex_lines import variable_name
from lockwright.profile.outside.process import OWN_LIBRARY, WordSamples
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import KINDS, WaitKind

C_LIBRARY: Final = "C library"
OPENMP: Final = "libgomp"
GO: Final = "Go"

_C_FILES: Final = ("libc.so", "libc-2", "libpthread", "ld-linux", "ld-musl", "libc.musl")
_LOADERS: Final = ("ld-linux", "ld-musl")

_FUNCTIONS: Final[tuple[tuple[str, WaitKind | Literal[""]], ...]] = (
    (r"_*pthread_cond_\w+|cnd_\w+", "condition"),
    (r"_*pthread_barrier_\w+", "barrier"),
    (r"_*pthread_(clock|timed|try)?join\w*|thrd_join", "join"),
    (r"_*pthread_once\w*|call_once", "once"),
    (r"_*(new_|old_)?sem_\w*wait\w*|do_futex_wait\w*", "semaphore"),
    (r"_*pthread_(mutex|rwlock)\w+|mtx_\w+", "lock"),
    (r"_*lll_\w+|__lock|__lockfile|flockfile", "lock"),
    (r"_*futex_\w+|__timedwait\w*|__wait|__libc_\w+|__GI_\w+|syscall", ""),
    (r"_?start(_thread)?|(__GI_+)?clone3?|__libc_start\w+|_*pthread_\w+", ""),
    (r"_*(int_)?(malloc|calloc|free|realloc|memalign|cfree)|arena_get\w*|sysmalloc", ""),
    (r"_IO_\w+|v?f?(puts|printf|write|read|flush)(_internal)?|f?(getc|putc)", ""),
)
"""Functions of the C library, which a static program contains; "": several kinds call them."""

_ALLOCATORS = re.compile(r"_*(int_|libc_)?(malloc|calloc|c?free|realloc|\w*alloc\w*)")

_FIRST_THREAD = "runtime.m0"
"""The record of Go's first thread, which has the word on which that parks."""

_CRITICAL = ".gomp_critical_user_"

_ALL_ONES = 0xFFFFFFFF
_TAKEN = (2, _ALL_ONES)
"""Values of libgomp's locks while threads wait for them; those of barriers are multiples of 8, with
flags (config/linux/mutex.h and bar.h)."""


@dataclass(frozen=True)
class Named:
    """An object. library: "" for one of the C library's functions for programs."""

    kind: WaitKind
    name: str
    library: str


def named(word: WordSamples, address: int, stack: Sequence[Frame], symbols: Symbols) -> Named:
    """Return what a word is. stack: of the site with most waiting."""
    wrappers = wrapper_count(stack)
    site = stack[wrappers].short_label if stack else "unknown code"
    if word.lock:
        return Named("lock", word.lock, C_LIBRARY)
    if inner := _inside_c_library(address, stack, symbols):
        return Named("lock", inner, C_LIBRARY)
    kind, library = _kind(word, stack[: max(1, wrappers)])
    if library == GO and (kind == "thread" or symbols.place(address).symbol == _FIRST_THREAD):
        return Named("thread", "threads without work", library)
    if library == OPENMP and kind == "barrier" and is_of_libraries(stack[wrappers]):
        return Named(kind, "end of parallel regions", library)
    if address and symbols.mapping(address) is not None:
        frame = symbols.place(address)
        if frame.symbol.startswith(_CRITICAL):
            return Named(kind, f"critical section {frame.symbol[len(_CRITICAL) :]}", library)
        if frame.symbol and not _is_file(frame, (OPENMP,)):
            return Named(kind, variable_name(frame, 15), library)
    return Named(kind, f"{KINDS[kind]} waited for in {site}", library)


def wrapper_count(stack: Sequence[Frame]) -> int:
    """Return the number of innermost frames that are of libraries; the last of a stack never is."""
    count = 0
    for frame in stack[:-1]:
        if not is_of_libraries(frame):
            break
        count += 1
    return count


def is_of_libraries(frame: Frame) -> bool:
    """Return whether a frame is of a library that waits for its callers."""
    return (
        _is_file(frame, _C_FILES)
        or is_own(frame)
        or is_known(frame.symbol)
        or libraries.library_of(frame) is not None
        or _c_function(frame) is not None
    )


def _inside_c_library(address: int, stack: Sequence[Frame], symbols: Symbols) -> str:
    """Return the name of a lock in variables of the C library or the dynamic linker; else ""."""
    place = symbols.place(address)
    if _is_file(place, _LOADERS) or place.symbol.startswith(("_rtld_", "_dl_load_")):
        return "dynamic linker's lock"
    if not _is_file(place, _C_FILES):
        return ""
    of_library = []
    for frame in stack:
        if not _is_file(frame, _C_FILES):
            break
        if frame.symbol:
            of_library.append(function(frame.symbol).partition("@")[0])
    if not of_library:
        return "lock of the C library"
    if any(_ALLOCATORS.fullmatch(each) for each in of_library):
        return "malloc: list of arenas"
    return f"lock in {of_library[-1]}"


def _kind(word: WordSamples, stack: Sequence[Frame]) -> tuple[WaitKind, str]:
    """Return the kind and the library of a futex. stack: its innermost frames, of libraries."""
    if word.is_own:
        return "lock", ""
    library = libraries.of(stack)
    if library and (library.name, library.kind) == (OPENMP, "futex"):
        return "lock" if word.first.value in _TAKEN else "barrier", OPENMP
    if library:
        return library.kind, library.name
    kinds = [kind for frame in stack if (kind := _c_function(frame))]
    if not kinds and binary.is_go(Path(stack[0].module)):
        return "futex", GO
    return kinds[-1] if kinds else "lock" if word.holders else "futex", ""


def is_own(frame: Frame) -> bool:
    """Return whether a function is one of Lockwright's libraries."""
    return _is_file(frame, (OWN_LIBRARY,))


def c_name(frame: Frame) -> str:
    """Return the name of a function without parameters and version."""
    return without_arguments(function(frame.symbol)).partition("@")[0]


def _c_function(frame: Frame) -> WaitKind | Literal[""] | None:
    """Return the kind of wait of a function of the C library; None for any other function."""
    name = c_name(frame)
    return next((kind for pattern, kind in _FUNCTIONS if re.fullmatch(pattern, name)), None)


def _is_file(frame: Frame, beginnings: tuple[str, ...]) -> bool:
    return Path(frame.module).name.startswith(beginnings)
