"""Memory allocators of the distribution, which are preloaded after the lock's library, and settings
of the C library's own."""

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base import tool
from lockwright.base.errors import LockwrightError
from lockwright.elf.file import load
from lockwright.preload import binary
from lockwright.preload.locks import preload

TUNABLES = "GLIBC_TUNABLES"
"""The variable that sets numbers of the C library; its manual, section Memory Allocation Tunables,
has their meanings."""

HUGE_PAGES = {"glibc.malloc.hugetlb": "1"}
"""The tunable that makes malloc ask for transparent huge pages by madvise (glibc 2.35)."""

_MIB = 1 << 20


@dataclass(frozen=True)
class Allocator:
    """An allocator. library: the file to preload, "" for the C library's own; package: that has it
    in Debian 12; tunables: of the C library; huge: variables that make it ask for huge pages, each
    a list with that separator; empty if it cannot."""

    name: str
    summary: str
    library: str = ""
    package: str = ""
    tunables: Mapping[str, str] = field(default_factory=dict)
    huge: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether it is the C library's own."""
        return not self.library

    @property
    def has_huge_pages(self) -> bool:
        """Whether it can ask for transparent huge pages."""
        return self.is_own or bool(self.huge)


KNOWN = {
    each.name: each
    for each in (
        Allocator(
            "glibc-1-arena",
            "the C library's, one arena for all threads",
            tunables={"glibc.malloc.arena_max": "1"},
        ),
        Allocator(
            "glibc-cache",
            "the C library's, up to 1,024 free blocks of each size cached by each thread",
            tunables={"glibc.malloc.tcache_count": "1024"},
        ),
        Allocator(
            "glibc-retain",
            "the C library's, which keeps freed memory instead of returning it to the kernel",
            tunables={
                # The largest threshold that 64-bit builds accept: half of an arena's heap.
                "glibc.malloc.mmap_threshold": str(32 * _MIB),
                "glibc.malloc.trim_threshold": str(1024 * _MIB),
                "glibc.malloc.top_pad": str(16 * _MIB),
            },
        ),
        Allocator(
            "jemalloc",
            "jemalloc, several arenas and a cache for each thread",
            "libjemalloc.so.2",
            "libjemalloc2",
            huge={"MALLOC_CONF": "thp:always"},
        ),
        Allocator(
            "mimalloc",
            "mimalloc, a heap for each thread",
            "libmimalloc.so.2",
            "libmimalloc2.0",
            # Version 2.1 renamed the option.
            huge={"MIMALLOC_LARGE_OS_PAGES": "1", "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1"},
        ),
        Allocator(
            "tcmalloc",
            "tcmalloc, a cache for each thread",
            "libtcmalloc_minimal.so.4",
            "libtcmalloc-minimal4",
        ),
    )
}
"""The allocators by name, other than the C library's without settings."""

_REPLACEMENTS = re.compile(r"lib(jemalloc|mimalloc|tcmalloc)[^/]*\.so")


def find(name: str) -> Allocator:
    """Return the allocator of that name. Raises LockwrightError if there is none."""
    if name not in KNOWN:
        raise LockwrightError(f"no allocator is named '{name}'", f"choose from {', '.join(KNOWN)}")
    return KNOWN[name]


def path_of(allocator: Allocator) -> Path:
    """Return the library of an allocator that is not the C library's. Raises LockwrightError if it
    is not installed."""
    for folder in _folders():
        path = folder / allocator.library
        if path.is_file():
            return path
    raise LockwrightError(
        f"{allocator.name} is not installed: {allocator.library} is missing",
        f"install its package, on Debian and Ubuntu {allocator.package}",
    )


def _folders() -> Sequence[Path]:
    """Return the directories of the system's libraries, the multiarch one first."""
    multiarch = f"{platform.machine()}-linux-gnu"
    return [Path(each) for each in (f"/usr/lib/{multiarch}", "/usr/lib64", "/usr/lib")]


def check_replaceable(allocator: Allocator, program: Path, environment: Mapping[str, str]) -> None:
    """Raise LockwrightError if the allocator can have no effect on a program. program: the one that
    is executed, not a script."""
    preloaded = re.split("[ :]", environment.get("LD_PRELOAD", ""))
    if binary.sanitizer(program) or any(map(binary.is_sanitizer, filter(None, preloaded))):
        raise LockwrightError(
            f"'{program}' runs under a sanitizer, which has an allocator of its own",
            "leave out the allocator, or use a build without the sanitizer",
        )
    if load(program).defines("malloc"):
        raise LockwrightError(
            f"'{program}' contains an allocator of its own, which no preloaded one replaces",
            "leave out the allocator, or use a build of it without one",
        )
    if allocator.is_own and (other := _other_allocator(program, preloaded)):
        raise LockwrightError(
            f"'{program}' runs with {other}, so {allocator.name} changes nothing",
            "choose an allocator other than the C library's",
        )


def _other_allocator(program: Path, preloaded: Sequence[str]) -> str:
    """Return the library in place of the C library's allocator; "" without one."""
    names = (*preloaded, *load(program).needed)
    return next((name for name in names if _REPLACEMENTS.search(Path(name).name)), "")


def with_allocator(
    allocator: Allocator | None, huge: bool, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment with an allocator, before all other preloaded libraries. allocator:
    None for the present one. huge: whether it asks for transparent huge pages. Raises
    LockwrightError if it is not installed, or cannot."""
    chosen = dict(environment)
    tunables: dict[str, str] = {}
    if allocator is not None:
        tunables |= allocator.tunables
        if not allocator.is_own:
            chosen = preload(path_of(allocator), chosen)
    if huge and (allocator is None or allocator.is_own):
        tunables |= HUGE_PAGES
    elif huge and allocator is not None:
        if not allocator.has_huge_pages:
            raise LockwrightError(
                f"{allocator.name} has no setting for huge pages", "leave out one of them"
            )
        for variable, value in allocator.huge.items():
            given = chosen.get(variable)
            is_list = ":" in value
            chosen[variable] = f"{given},{value}" if given and is_list else value
    if tunables:
        chosen[TUNABLES] = _merged(chosen.get(TUNABLES, ""), tunables)
    return chosen


def _merged(present: str, added: Mapping[str, str]) -> str:
    """Return a list of tunables with others added, each in place of its present value."""
    kept = [word for word in present.split(":") if word and word.partition("=")[0] not in added]
    return ":".join([*kept, *(f"{name}={value}" for name, value in added.items())])


def check_order(
    allocator: Allocator, program: Path, environment: Mapping[str, str], first: Path
) -> None:
    """Raise LockwrightError if the dynamic linker does not load the allocator right after `first`,
    the lock's library, or would load the C library before it. The program is not run."""
    if allocator.is_own:
        return
    path = path_of(allocator)
    trace = tool.call(
        [program], environment=dict(environment) | {"LD_TRACE_LOADED_OBJECTS": "1", "LC_ALL": "C"}
    )
    lines = trace.output.splitlines()

    def position(name: str) -> int:
        return next((n for n, line in enumerate(lines) if name in line), -1)

    own, lock, libc = position(str(path)), position(first.name), position("libc.so.6")
    if own < 0 or lock < 0 or not lock < own < libc:
        problem = " ".join(line for line in trace.errors.splitlines() if str(path) in line)
        raise LockwrightError(
            f"the dynamic linker does not load {path} after {first.name} and before the C library"
            + (f": {problem}" if problem else ""),
            f"see its order: LD_PRELOAD={path} ldd {program}",
        )
