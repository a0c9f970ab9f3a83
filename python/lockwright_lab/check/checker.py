"""Builds and runs the model checker for one lock: its source is compiled with the lock's header."""

import fcntl
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lockwright.base import progress, tool
from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import headers, package_folder
from lockwright.run.process_runner import Process, ProcessRunner

_SOURCES = ("check.cpp", "run.cpp", "search.cpp", "trace.cpp")
_FLAGS = ("-std=c++20", "-O2", "-w", "-U_FORTIFY_SOURCE")

_MOST_FILES = 60
"""Number of recently used files that the cache retains: some ten locks."""

COMPILER_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.M
)
_NO_RELACY = re.compile(r"relacy/\S+?: No such file|'relacy/\S+' file not found")
_LACKS = re.compile(r"a lock needs: ([^\"\n]+)")

PAGE = "docs/lab/adding-a-lock.md"


@dataclass(frozen=True)
class Subject:
    """A lock to check. header: the file to include; absolute, or below the headers of the package.
    type: a type with the parameter `Env`, as in a row of the registry."""

    name: str
    header: str
    type: str

    def source(self) -> str:
        """Return the translation unit that defines its programs."""
        return (
            '#include "lockwright/env/model.hpp"\n'
            f'#include "{self.header}"\n'
            '#include "lockwright/row.hpp"\n'
            '#include "one_lock.hpp"\n'
            "namespace lockwright {\n"
            f'LOCKWRIGHT_ROW("{self.name}", checked, "", {self.type})\n'
            "static_assert(check::is_a_lock<checked_lock<model>>());\n"
            "namespace check {\n"
            "std::vector<test_case> cases_of_the_lock() {\n"
            "  return cases_of_kind<checked_lock<model>>();\n"
            "}\n"
            "}  // namespace check\n"
            "}  // namespace lockwright\n"
        )


def subject_of_header(path: Path, class_name: str | None) -> Subject:
    """Return the lock of a header. class_name: its class template; None for the file's name. Raises
    LockwrightError if there is no such file, or its path has a quote or a backslash."""
    if not path.is_file():
        raise LockwrightError(f"there is no file '{path}'", "check the path of the header")
    if any(letter in '"\\\n' for letter in str(path.absolute())):
        raise LockwrightError(f"'{path}' contains a quote or a backslash", "rename it")
    identifier = re.sub(r"\W", "_", path.stem)
    type_ = class_name or identifier
    if "<" not in type_:
        type_ += "<Env>"
    return Subject(identifier.replace("_", "-"), str(path.resolve()), type_)


def subject_of_registry(name: str) -> Subject:
    """Return a lock, or a reader-writer lock, of the registry. Raises LockwrightError if it has no
    header."""
    identifier = name.replace("-", "_")
    header = f"lockwright/row/{identifier}.hpp"
    if not (headers() / header).is_file():
        raise LockwrightError(
            f"'{name}' is not among the installed headers", "name the file of its header instead"
        )
    return Subject(name, header, f"typename {identifier}_row::template over<Env>")


def sources() -> Path:
    """Return the directory of the checker's source."""
    return package_folder("src/check", _SOURCES[0], "lockwright_lab")


def compiler() -> list[str]:
    """Return the words that start the C++ compiler: $CXX, or the first one found. Raises
    LockwrightError if there is none."""
    declared = shlex.split(os.environ.get("CXX", ""))
    if declared:
        if shutil.which(declared[0]) is None:
            raise LockwrightError(
                f"CXX names no program: '{declared[0]}'", "set it to gcc >= 12 or clang >= 14"
            )
        return declared
    for name in ("g++", "g++-14", "g++-13", "g++-12", "clang++"):
        if shutil.which(name):
            return [name]
    raise LockwrightError(
        "there is no C++ compiler, and the checker is compiled with the lock",
        "apt-get install g++, or set CXX",
    )


def build(subject: Subject) -> Path:
    """Return the checker for a lock from the cache, or compile it. Raises LockwrightError."""
    cache_ = _cache_directory()
    with (cache_ / "lock").open("w") as lock_file:
        # Two concurrent builds would compile the same files.
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        return _build(subject, cache_)


def _build(subject: Subject, cache_: Path) -> Path:
    words = compiler()
    version = tool.call([*words, "--version"]).output
    source_folder = sources()
    words += [*_FLAGS, *shlex.split(os.environ.get("CXXFLAGS", ""))]
    words += [f"-I{source_folder}", f"-I{headers()}"]
    text = subject.source()
    generated = cache_ / f"lock-{_digest(text.encode())}.cpp"
    if not generated.exists():
        _write(generated, text.encode())
    units = [_Unit(words, version, source_folder / name, cache_) for name in _SOURCES]
    lock = _Unit(words, version, generated, cache_)
    _compile([lock, *units], subject, generated, source_folder)
    objects = [str(unit.object) for unit in (lock, *units)]
    program = cache_ / f"check-{_digest(json.dumps([_file_digest(o) for o in objects]).encode())}"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=cache_) as scratch:
            linked = Path(scratch) / "check"
            done = tool.call([*words, *objects, "-o", str(linked)])
            if done.status != 0:
                raise LockwrightError(
                    f"the checker does not link: {done.errors.strip()[-300:]}",
                    "try another compiler with CXX",
                )
            linked.replace(program)
    used = {generated, program} | {file for unit in (lock, *units) for file in unit.files()}
    for file in used:
        os.utime(file)
    _prune(cache_, used)
    return program


def output_fields(program: Path, arguments: Sequence[str], patience: float) -> Iterator[list[str]]:
    """Yield the fields of each line of the checker's output. Raises Crashed if it dies, or prints
    nothing for `patience` seconds."""
    with ProcessRunner() as runner:
        running = runner.stream(
            Process([str(program), *arguments], os.environ), math.inf, silence=patience
        )
        for line in running:
            yield line.split("\t")
        ending = running.ending
        if ending.outcome == "silent":
            raise Crashed("loops without a step visible to other threads")
        if ending.status is not None and os.WIFSIGNALED(ending.status):
            raise Crashed(f"crashes ({signal.Signals(os.WTERMSIG(ending.status)).name})")


class Crashed(Exception):
    """The lock made the checker crash or hang, as the message states."""


class _Unit:
    """A source, and its object file in the cache with the digests of its dependencies."""

    def __init__(self, words: Sequence[str], version: str, source: Path, cache_: Path) -> None:
        key = _digest(json.dumps([*words, version, str(source)]).encode())
        self.words = words
        self.source = source
        self.object = cache_ / f"{key}.o"
        self.record = cache_ / f"{key}.json"
        self.output = b""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def files(self) -> list[Path]:
        return [self.object, self.record]

    def is_current(self) -> bool:
        try:
            known = json.loads(self.record.read_text())
            return self.object.exists() and all(
                _file_digest(file) == digest for file, digest in known.items()
            )
        except (OSError, ValueError, AttributeError):
            return False

    def compiler_process(self) -> Process:
        self._scratch = tempfile.TemporaryDirectory(dir=self.object.parent)
        folder = Path(self._scratch.name)
        words = [*self.words, "-MD", "-MF", str(folder / "d")]
        words += ["-c", str(self.source), "-o", str(folder / "o")]
        return Process(words, os.environ, out="nowhere", err=folder / "err")

    def finish(self, status: int) -> bool:
        assert self._scratch is not None
        folder = Path(self._scratch.name)
        self.output = (folder / "err").read_bytes()
        if status == 0:
            files = _dependencies((folder / "d").read_text())
            known = {file: _file_digest(file) for file in files}
            (folder / "o").replace(self.object)
            _write(self.record, json.dumps(known).encode())
        self.drop()
        return status == 0

    def drop(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None


def _compile(
    units: Sequence[_Unit], subject: Subject, generated: Path, source_folder: Path
) -> None:
    waiting = [unit for unit in units if not unit.is_current()]
    if not waiting:
        return
    running: dict[_Unit, int] = {}
    total = len(waiting)
    try:
        with ProcessRunner() as runner, progress.Display(total, 0) as shown:
            while waiting or running:
                done = total - len(waiting) - len(running)
                about = f"compiling the checker for {subject.name}"
                shown.announce(about, f"{about}, which is kept: {done} of {total} files done", None)
                while waiting and len(running) < (os.cpu_count() or 1):
                    unit = waiting.pop(0)
                    running[unit], reason = runner.start(unit.compiler_process())
                    if reason:
                        raise LockwrightError(
                            f"{unit.words[0]} cannot be started: {reason}",
                            "try another compiler with CXX",
                        )
                for unit, pid in list(running.items()):
                    if (status := runner.status(pid)) is not None:
                        del running[unit]
                        shown.advance()
                        if not unit.finish(status):
                            raise _compile_error(unit, subject, generated, source_folder)
                time.sleep(0.02)
    finally:
        for unit in running:
            unit.drop()


def _compile_error(
    unit: _Unit, subject: Subject, generated: Path, source_folder: Path
) -> LockwrightError:
    """Return the error for the compiler's output."""
    output = unit.output.decode(errors="replace")
    if _NO_RELACY.search(output):
        return LockwrightError(
            "the model checker Relacy is not installed", "apt-get install relacy-dev"
        )
    error = COMPILER_ERROR.search(output)
    if error is None:
        return LockwrightError(
            f"{unit.words[0]} failed: {output.strip()[-300:] or 'no output'}",
            "try another compiler with CXX",
        )
    file = Path(error["file"])
    message = f"{file.name}:{error['line']}: {error['text']}"
    if unit.source != generated:
        return LockwrightError(
            f"the checker does not compile: {message}", "use gcc >= 12 or clang >= 14; set CXX"
        )
    header = _relative(subject.header)
    is_own_code = file == generated or source_folder in file.parents
    lacks = _LACKS.search(output)
    if lacks and is_own_code:
        return LockwrightError(
            f"{subject.type} of {header} lacks '{lacks[1].strip()}'",
            f"{PAGE} lists the requirements",
        )
    if file == generated:
        return LockwrightError(
            f"{header} has no class template {subject.type} in namespace lockwright "
            f"({error['text']})",
            "name it with --type",
        )
    return LockwrightError(
        f"{header} does not compile: {message}", f"{PAGE} shows a lock that does"
    )


def _relative(header: str) -> str:
    current = Path.cwd()
    return str(Path(header).relative_to(current)) if current in Path(header).parents else header


def _cache_directory() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "lockwright" / "check"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _prune(folder: Path, used: set[Path]) -> None:
    """Delete the least recently used files."""
    files = [(file.stat().st_mtime, file) for file in folder.iterdir()]
    files.sort(reverse=True)
    for _, file in files[_MOST_FILES:]:
        if file not in used and file.is_file() and file.name != "lock":
            file.unlink(missing_ok=True)


def _write(file: Path, content: bytes) -> None:
    """Write a file atomically."""
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as scratch:
        scratch.write(content)
    Path(scratch.name).replace(file)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


@cache
def _file_digest(file: str) -> str:
    return _digest(Path(file).read_bytes())


def _dependencies(rule: str) -> list[str]:
    """Return the prerequisites of a make rule."""
    _, _, text = rule.replace("\\\n", " ").partition(": ")
    return [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", text)]
