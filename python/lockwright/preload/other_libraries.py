"""Mutex libraries of other projects, preloaded and measured like the locks."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.base import tool
from lockwright.base.errors import LockwrightError
from lockwright.elf.file import load
from lockwright.preload import locks

LIBC = "libc"
"""The name in `bench` of the C library without a preloaded library; reserved."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


@dataclass(frozen=True)
class OtherLibrary:
    """A library, its name in the tables, and its absolute path."""

    name: str
    path: Path


def parse(words: Iterable[str], taken: Iterable[str], own: Path) -> tuple[OtherLibrary, ...]:
    """Return the libraries that words such as `litl=/opt/litl/lib.so` name.

    taken: names of locks. own: a library of Lockwright. Raises LockwrightError for a library that
    cannot be preloaded, also because of its architecture, and for a name in use.
    """
    libraries: list[OtherLibrary] = []
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not path:
            raise LockwrightError(
                f"--preload '{word}' is not NAME=PATH",
                "give the library a name, as in --preload mine=/opt/libmine.so",
            )
        if not _NAME.fullmatch(name):
            raise LockwrightError(
                f"--preload '{word}': '{name}' is not a name",
                "use up to 40 letters, digits and . _ + -",
            )
        if name == LIBC or name in set(taken):
            what = "the name of the C library" if name == LIBC else "a lock"
            raise LockwrightError(
                f"--preload '{word}': '{name}' is {what}", "choose another name for the library"
            )
        if name in {library.name for library in libraries}:
            raise LockwrightError(
                f"--preload names '{name}' twice", "choose a different name for each library"
            )
        libraries.append(OtherLibrary(name, Path(path).absolute()))
        _check_loadable(libraries[-1], own)
    return tuple(libraries)


def _check_loadable(library: OtherLibrary, own: Path) -> None:
    path = library.path
    if not path.is_file():
        why = "is not a file" if path.exists() else "does not exist"
        raise LockwrightError(
            f"--preload {library.name}: {path} {why}", "give the path of a library"
        )
    if any(separator in str(path) for separator in ":;") or re.search(r"\s", path.name):
        # The dynamic linker splits LD_PRELOAD or LD_LIBRARY_PATH there, and has no escape.
        raise LockwrightError(
            f"--preload {library.name}: '{path}' contains a colon or a semicolon, or its file name "
            "a space, so it cannot be preloaded",
            "copy it to another path",
        )
    try:
        header, native = load(path).header, load(own).header
    except OSError as error:
        raise LockwrightError(
            f"--preload {library.name}: cannot read {path}: {error.strerror}", "make it readable"
        ) from error
    if header is None or not header.shared or load(path).is_program:
        raise LockwrightError(
            f"--preload {library.name}: {path} is not a shared object",
            "give a library that was linked with -shared",
        )
    if native is not None and header.architecture != native.architecture:
        raise LockwrightError(
            f"--preload {library.name}: {path} is built for {header.architecture}, this Lockwright "
            f"for {native.architecture}",
            "build the library for the same architecture",
        )


def choose(words: Sequence[str], program: Path) -> tuple[OtherLibrary, ...]:
    """Return the libraries that the values of --preload name, as `parse` does.

    program: the dynamically linked program, which is not run. Raises LockwrightError also for a
    library that the dynamic linker would silently ignore.
    """
    if not words:
        return ()
    known = locks.registry()
    folder = known.directory / "bench"
    bench_only = locks.registry(folder).names if (folder / "locks.json").is_file() else []
    libraries = parse(words, [*known.names, *bench_only], known.path_of(locks.BASELINE))
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    without = _loaded_libraries(program, environment).output.splitlines()
    for library in libraries:
        trace = _loaded_libraries(program, locks.preload(library.path, environment))
        added = [line for line in trace.output.splitlines() if line not in without]
        problem = _problem(library, added, trace.errors)
        if problem:
            raise LockwrightError(
                f"--preload {library.name}: the dynamic linker does not load "
                f"{library.path}: {problem}",
                f"find the missing library: ldd {library.path}",
            )
    return libraries


def remarks(libraries: Sequence[OtherLibrary]) -> list[str]:
    """Return remarks on libraries that do not replace the mutexes of a program."""
    return [
        f"{library.path} defines no pthread_mutex_lock: under '{library.name}', the mutexes stay "
        "the C library's"
        for library in libraries
        if not load(library.path).defines("pthread_mutex_lock")
    ]


def _loaded_libraries(program: Path, environment: dict[str, str]) -> tool.Answer:
    """Return the dynamic linker's list of the libraries of a program, without running it."""
    return tool.call(
        [program], environment=environment | {"LD_TRACE_LOADED_OBJECTS": "1", "LC_ALL": "C"}
    )


def _problem(library: OtherLibrary, added: Sequence[str], errors: str) -> str | None:
    for line in errors.splitlines():
        if "ERROR: ld.so:" in line and library.path.name in line:
            reason = re.search(r"\((.*)\)", line)
            return reason[1] if reason else line.strip()
    return next((line.strip() for line in added if "not found" in line), None)
