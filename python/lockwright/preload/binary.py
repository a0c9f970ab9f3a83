"""Finds the program of a command, and refuses programs into which no lock can be preloaded.

The dynamic linker silently ignores LD_PRELOAD if it cannot or may not apply it; such a run would
measure the C library's mutex. Every such case is therefore detected here.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.elf.file import Header, load
from lockwright.preload import own_locks

_MAX_INTERPRETERS = 5
"""The kernel's limit on nested script interpreters (BINPRM_MAX_RECURSION)."""

_GO_SECTIONS = {".go.buildinfo", ".note.go.buildid"}
"""Sections that Go's linker writes, and that stripping retains."""


class NotPreloadable(LockwrightError):
    """A program that runs, but into which nothing can be preloaded."""


def find(command: str) -> Path:
    """Return the absolute path of the program that `command` names, looked up as execvp does.
    Raises LockwrightError if there is none, or if it cannot be executed."""
    if "/" not in command:
        path_found = shutil.which(command)
        if path_found is None:
            raise LockwrightError(
                f"command '{command}' was not found",
                "check its spelling and PATH, or give the path of the program",
            )
        return Path(path_found).absolute()
    path = Path(command).absolute()
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise LockwrightError(
            f"cannot run '{command}': {error.strerror}", "check the path of the program"
        ) from error
    if stat.S_ISDIR(mode):
        raise LockwrightError(f"'{command}' is a directory", "give the path of a program")
    if not stat.S_ISREG(mode):
        raise LockwrightError(f"'{command}' is not a regular file", "give the path of a program")
    if not os.access(path, os.X_OK):
        raise LockwrightError(f"'{command}' is not executable", f"make it so: chmod +x {command}")
    return path


def check(program: Path, library: Path, arguments: list[str] | None = None) -> str | None:
    """Raise LockwrightError if `library` cannot be preloaded into `program`.

    Returns a reason to doubt that the program uses the mutexes that the library replaces, or None.
    The interpreter of a script and the program that `env` starts are checked. arguments: those of
    `program`, without its name.
    """
    native = load(library).header
    if native is None:
        raise LockwrightError(f"{library} is damaged", "build or install Lockwright again")
    named = program
    arguments = arguments or []
    for _ in range(_MAX_INTERPRETERS):
        line = _script_line(program)
        if line is None:
            _check_privilege(program, named)
            _check_elf(program, named, native)
            env_command = _env_command(arguments) if Path(program).name == "env" else None
            if env_command is None:
                return _reason_to_doubt(program, named)
            program, arguments = find(env_command[0]), env_command[1:]
            named = program
            continue
        if not line:
            raise LockwrightError(
                f"'{program}' has an empty #! line", "name its interpreter in its first line"
            )
        try:
            interpreter = find(line[0])
        except LockwrightError as error:
            raise LockwrightError(
                f"the interpreter '{line[0]}' of '{program}' cannot be run",
                "check the first line of the script",
            ) from error
        arguments = [*line[1:], str(program), *arguments]
        program = interpreter
    raise LockwrightError(
        f"'{named}' is a script with too many nested interpreters", "run its interpreter directly"
    )


def executed(program: Path, arguments: Sequence[str]) -> Path:
    """Return the program that a command executes in the end: the interpreter of a script, or the
    program that `env` starts. Programs that `check` refuses are returned as they are."""
    words = list(arguments)
    for _ in range(_MAX_INTERPRETERS):
        if line := _script_line(program):
            words = [*line[1:], str(program), *words]
            program = find(line[0])
        elif program.name == "env" and (command := _env_command(words)):
            program, words = find(command[0]), command[1:]
        else:
            break
    return program


_SANITIZER_NAME = re.compile(r"lib((a|hwa|l|t|ub)san\.so|clang_rt\.(asan|hwasan|lsan|tsan|ubsan))")
_SANITIZER_STARTS = ("__asan_init", "__hwasan_init", "__lsan_init", "__tsan_init")


def sanitizer(program: Path) -> str | None:
    """Return the name of the sanitizer's library that a program was built with, or None.

    It must precede a lock's library: ThreadSanitizer orders events by the calls that pass through
    it to the next library, and AddressSanitizer refuses to start elsewhere.
    """
    return next((name for name in load(program).needed if _SANITIZER_NAME.match(name)), None)


def is_sanitizer(library: str) -> bool:
    """Return whether an entry of LD_PRELOAD is a sanitizer, by its name or by its symbols."""
    path = Path(library)
    if _SANITIZER_NAME.match(path.name):
        return True
    return path.is_file() and any(load(path).defines(name) for name in _SANITIZER_STARTS)


def _label(program: Path, named: Path) -> str:
    return f"'{program}'" if program == named else f"'{program}', which runs '{named}',"


def _check_privilege(program: Path, named: Path) -> None:
    """Raise LockwrightError for a program that gains privileges at its start: the dynamic linker
    ignores LD_PRELOAD there. The kernel ignores these bits of scripts."""
    mode = program.stat().st_mode
    for bit, name in ((stat.S_ISUID, "set-user-ID"), (stat.S_ISGID, "set-group-ID")):
        if mode & bit:
            raise LockwrightError(
                f"{_label(program, named)} is {name}, and the system preloads nothing into such a "
                "program",
                "use a copy of it without that bit",
            )
    if os.getuid() != 0 and _has_capabilities(program):
        raise LockwrightError(
            f"{_label(program, named)} has file capabilities, and the system preloads nothing into "
            "such a program",
            "use a copy of it without them",
        )


def _has_capabilities(program: Path) -> bool:
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:
        return False


def _script_line(program: Path) -> list[str] | None:
    """Return the interpreter of a #! script and its argument (at most one, as the kernel splits
    it); None for other files."""
    try:
        with program.open("rb") as file:
            first = file.readline(512)
    except OSError as error:
        if error.errno == errno.EACCES:
            raise LockwrightError(
                f"'{program}' cannot be read, so it cannot be checked", "make it readable"
            ) from error
        raise
    if not first.startswith(b"#!"):
        return None
    return os.fsdecode(first[2:].strip()).split(maxsplit=1)


def _check_elf(program: Path, named: Path, native: Header) -> None:
    header = load(program).header
    name = _label(program, named)
    if header is None:
        raise LockwrightError(
            f"{name} is neither an ELF program nor a script with a #! line",
            "give the program itself, or its interpreter and the script",
        )
    if (header.bits, header.little_endian, header.machine) != (
        native.bits,
        native.little_endian,
        native.machine,
    ):
        raise LockwrightError(
            f"{name} is built for {header.architecture}, this Lockwright for {native.architecture}",
            "use a program and a Lockwright of the same architecture",
        )
    if is_go(program) and (header.interpreter is None or not _calls_mutexes(program)):
        raise NotPreloadable(
            f"{name} is a Go program, whose locks are Go's own and not the C library's",
            "see 'lockwright info go-mutex' for that lock under other programs",
        )
    if header.interpreter is None:
        raise NotPreloadable(
            f"{name} is statically linked, so no lock can be preloaded",
            "link it dynamically (without -static)",
        )
    if Path(header.interpreter).name.startswith("ld-musl"):
        raise NotPreloadable(
            f"{name} is linked against musl, and the locks need the GNU C library",
            "use a build of it for glibc",
        )
    if not Path(header.interpreter).exists():
        raise LockwrightError(
            f"the dynamic linker '{header.interpreter}' of {name} does not exist",
            "install the C library that the program was built for",
        )


def is_go(program: Path) -> bool:
    """Return whether a program was linked by Go."""
    return not _GO_SECTIONS.isdisjoint(load(program).sections)


def _calls_mutexes(program: Path) -> bool:
    """Return whether the program itself, without its libraries, refers to pthread_mutex_lock."""
    return b"\0pthread_mutex_lock\0" in load(program).section(".dynstr")


def _reason_to_doubt(program: Path, named: Path) -> str | None:
    """Return the reason why the program's mutexes may not be the C library's, or None."""
    if is_go(program):
        return (
            f"{_label(program, named)} is a Go program: Go's own locks stay as they are, and only"
            " those of C code in it are the C library's"
        )
    calls_mutexes = _calls_mutexes(program)
    if b"rustc version" in load(program).section(".comment") and not calls_mutexes:
        return (
            f"{_label(program, named)} is a Rust program that calls no pthread_mutex_lock: the "
            "locks of Rust's standard library go to the kernel directly and stay as they are"
        )
    own = own_locks.of_program(program, with_dependencies=not calls_mutexes)
    if own is None:
        return None
    return (
        f"{_label(program, named)} uses {own.name}: its {own.locks} go to the kernel directly and "
        "stay as they are; only pthread locks are replaced"
    )


def _env_command(arguments: list[str]) -> list[str] | None:
    """Return the command that `env` with these arguments starts; None if it starts none, or with
    options that change the search for it (-C, -P)."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        if word in ("-S", "--split-string") or word.startswith(("-S", "--split-string=")):
            import shlex

            text = word.partition("=")[2] if word.startswith("--") else word[2:]
            if not text and rest:
                text = rest.pop(0)
            try:
                rest = shlex.split(text) + rest
            except ValueError:
                return None
        elif word in ("-u", "--unset"):
            rest = rest[1:]
        elif word in ("-C", "--chdir"):
            return None
        elif word.startswith("-") or "=" in word:
            continue
        else:
            return [word, *rest]
    return None
