"""A user's lock: its header is compiled into a library that the simulator loads."""

import os
import shlex
import subprocess
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import headers, package_folder
from lockwright.simulate.run import OwnLock

from lockwright_lab.check import checker


def compiled(path: Path, class_name: str | None, folder: Path, of_rwlocks: bool) -> OwnLock:
    """Compile the lock of a header into a library in `folder`. of_rwlocks: it is a reader-writer
    lock. Raises LockwrightError."""
    kind = "rwlock" if of_rwlocks else "lock"
    subject = checker.subject_of_header(path, class_name)
    source = folder / "lock.cpp"
    library = folder / "lock.so"
    source.write_text(
        f'#include "{kind}_entry.hpp"\n'
        f'#include "{subject.header}"\n'
        '#include "lockwright/row.hpp"\n'
        "namespace lockwright {\n"
        f'LOCKWRIGHT_ROW("{subject.name}", own, "", {subject.type})\n'
        "}\n"
        'extern "C" {\n'
        f"extern const lockwright::simulate::{kind}_entry lockwright_simulated_{kind};\n"
        f"const lockwright::simulate::{kind}_entry lockwright_simulated_{kind} =\n"
        f"    lockwright::simulate::{kind}_entry_of<lockwright::own_lock<lockwright::simulated>>("
        f'"{subject.name}");\n'
        "}\n"
    )
    words = [*checker.compiler(), "-std=c++20", "-O2", "-w", "-fPIC", "-shared"]
    words += shlex.split(os.environ.get("CXXFLAGS", ""))
    sources = package_folder("src/simulate", "lock_entry.hpp")
    words += [f"-I{sources}", f"-I{headers()}", str(source), "-o", str(library)]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise _compile_error(done.stderr, subject, source, words[0])
    return OwnLock(subject.name, library)


def _compile_error(
    output: str, subject: checker.Subject, source: Path, compiler: str
) -> LockwrightError:
    error = checker.COMPILER_ERROR.search(output)
    if error is None:
        return LockwrightError(
            f"{compiler} failed: {output.strip()[-300:] or 'no output'}",
            "try another compiler with CXX",
        )
    if Path(error["file"]) == source:
        return LockwrightError(
            f"{subject.header} has no lock {subject.type} in namespace lockwright "
            f"({error['text']})",
            f"name it with --type; {checker.PAGE} lists the requirements",
        )
    where = f"{Path(error['file']).name}:{error['line']}"
    return LockwrightError(
        f"{subject.header} does not compile: {where}: {error['text']}",
        f"{checker.PAGE} shows a lock that does",
    )
