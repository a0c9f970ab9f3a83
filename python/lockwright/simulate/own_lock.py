"""A lock of the user's own: its header is compiled into a library that the simulator loads."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import headers
from lockwright.run import checker

_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.M
)


@dataclass(frozen=True)
class OwnLock:
    """A lock that is in no registry."""

    name: str
    shared_object: Path


def compiled(path: Path, named: str | None, place: Path) -> OwnLock:
    """The library of the lock in that header, made in `place`. Raises LockwrightError."""
    subject = checker.subject_of_header(path, named)
    source = place / "lock.cpp"
    library = place / "lock.so"
    source.write_text(
        '#include "lock_entry.hpp"\n'
        f'#include "{subject.header}"\n'
        '#include "lockwright/row.hpp"\n'
        "namespace lockwright {\n"
        f'LOCKWRIGHT_ROW("{subject.name}", own, "", {subject.type})\n'
        "}\n"
        'extern "C" {\n'
        "extern const lockwright::simulate::lock_entry lockwright_simulated_lock;\n"
        "const lockwright::simulate::lock_entry lockwright_simulated_lock =\n"
        "    lockwright::simulate::entry_of<lockwright::own_lock<lockwright::simulated>>("
        f'"{subject.name}");\n'
        "}\n"
    )
    words = [*checker.compiler(), "-std=c++20", "-O2", "-w", "-fPIC", "-shared"]
    words += shlex.split(os.environ.get("CXXFLAGS", ""))
    words += [f"-I{_sources()}", f"-I{headers()}", str(source), "-o", str(library)]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise _explained(done.stderr, subject, source, words[0])
    return OwnLock(subject.name, library)


def _sources() -> Path:
    import lockwright

    for place in lockwright.__path__:
        found = Path(place) / "src" / "simulate"
        if (found / "lock_entry.hpp").is_file():
            return found.absolute()
    raise LockwrightError("src/simulate/lock_entry.hpp is missing", "install Lockwright again")


def _explained(
    output: str, subject: checker.Subject, source: Path, compiler: str
) -> LockwrightError:
    error = _ERROR.search(output)
    if error is None:
        return LockwrightError(
            f"{compiler} failed: {output.strip()[-300:] or 'it says nothing'}",
            "try another compiler with CXX",
        )
    if Path(error["file"]) == source:
        return LockwrightError(
            f"{subject.header} has no lock {subject.type} in namespace lockwright "
            f"({error['text']})",
            f"name it with --type; {checker.PAGE} says what a lock needs",
        )
    where = f"{Path(error['file']).name}:{error['line']}"
    return LockwrightError(
        f"{subject.header} does not compile: {where}: {error['text']}",
        f"{checker.PAGE} shows a lock that does",
    )
