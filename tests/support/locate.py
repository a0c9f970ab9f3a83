"""The locations of the sources, the built libraries and the compiled test programs."""

import json
import mmap
import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"

_ROW = re.compile(r'^\s*LOCKWRIGHT_LOCK\(\s*"([a-z0-9-]+)"\s*,\s*([a-z0-9_]+)\s*,', re.MULTILINE)


class Missing(Exception):
    """A file that has to be built first is missing."""


def all_tests() -> bool:
    """Return whether every test runs, and as long as is useful: with --all."""
    return bool(os.environ.get("LOCKWRIGHT_TEST_ALL"))


def registry_rows() -> list[tuple[str, str]]:
    """Return the (name, identifier) of every algorithm of the build, in registry order."""
    rows = _ROW.findall((ROOT / "include/lockwright/registry.def").read_text())
    only = os.environ.get("LOCKWRIGHT_ONLY", "").split(";")
    return [row for row in rows if only == [""] or row[0] in only]


def lock_names() -> list[str]:
    return [name for name, _ in registry_rows()]


def rwlock_names() -> list[str]:
    """Return the names of all reader-writer locks, in registry order."""
    text = (ROOT / "include/lockwright/rwlocks.def").read_text()
    return re.findall(r'^LOCKWRIGHT_RWLOCK\("([a-z0-9-]+)"', text, re.MULTILINE)


def emulator() -> list[str]:
    """Return the emulator's command if the compiled programs are for another processor, else []."""
    return os.environ.get("LOCKWRIGHT_EMULATOR", "").split()


def sanitizer() -> str:
    """Return the sanitizer of the compiled programs: "thread", "address" (libraries too) or ""."""
    return os.environ.get("LOCKWRIGHT_SANITIZER", "")


#: For tests of programs that have to run without an emulator or a sanitizer.
native = pytest.mark.skipif(bool(emulator() or sanitizer()), reason="in an emulator or sanitized")


@cache
def lockwright() -> Path:
    """Return the installed command: that of the checkout, else that on PATH."""
    installed = ROOT / ".venv/bin/lockwright"
    found = str(installed) if installed.exists() else shutil.which("lockwright")
    if found is None:
        raise Missing("the lockwright command is not installed; run ./dev build")
    return Path(found)


@cache
def preload_dir() -> Path:
    """Return the directory of liblockwright-*.so, counting/ and locks.json."""
    declared = os.environ.get("LOCKWRIGHT_LIBDIR")
    if declared:
        return Path(declared).resolve()
    answer = subprocess.run(
        [lockwright(), "path", lock_names()[0]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        raise Missing(f"`lockwright path` failed: {answer.stderr.strip()}; run ./dev build")
    return Path(answer.stdout.strip()).resolve().parent


@cache
def _traits() -> dict[str, dict[str, object]]:
    rows = json.loads((preload_dir() / "locks.json").read_text())
    return {row["name"]: row for row in rows}


def traits(lock: str) -> Mapping[str, Any]:
    """Return the algorithm's traits; each is None if the algorithm is not built."""
    return _traits().get(lock) or defaultdict(lambda: None)


def is_fifo(lock: str) -> bool:
    """Return whether the algorithm states that it admits in the order of arrival."""
    return bool(traits(lock)["fifo"])


@cache
def _with_included(header: str) -> frozenset[str]:
    """Return the path below include/ of a header and of those that it includes. Those of the
    environment are left out: every algorithm includes them."""
    text = (ROOT / "include" / header).read_text()
    included = re.findall(r'^#include "(lockwright/(?!env/)[^"]+)"', text, re.MULTILINE)
    return frozenset({header}.union(*map(_with_included, included)))


@cache
def reads_topology(lock: str) -> bool:
    """Return whether NUMA nodes matter to the algorithm: its source asks for them. Its
    library is no evidence, for it has the reader-writer locks as well."""
    row = rf'^LOCKWRIGHT_LOCK\("{lock}", \w+, "([^"]+)"'
    registry = (ROOT / "include/lockwright/registry.def").read_text()
    found = re.search(row, registry, re.MULTILINE)
    assert found is not None, lock
    headers = (ROOT / "include" / header for header in _with_included(found[1]))
    return any(re.search(r"\bEnv::nodes?\(", header.read_text()) for header in headers)


def preload(lock: str, *, counting: bool = False) -> Path:
    """Return the shared library of an algorithm."""
    directory = preload_dir() / "counting" if counting else preload_dir()
    path = directory / f"liblockwright-{lock}.so"
    if not path.exists():
        raise Missing(f"{path} does not exist; run ./dev build")
    return path


@cache
def binary_dir() -> Path:
    """Return the build tree of tests/: $LOCKWRIGHT_TESTBIN, else the newest of build/*/tests."""
    declared = os.environ.get("LOCKWRIGHT_TESTBIN")
    if declared:
        return Path(declared).resolve()
    built = [ROOT / "build" / preset / "tests" for preset in ("debug", "release")]
    present = [path for path in built if (path / "posix").is_dir()]
    if not present:
        raise Missing("the C++ tests are not built; run ./dev test, or cmake --preset debug")
    return max(present, key=lambda path: (path / "posix").stat().st_mtime)


def program(suite: str, name: str) -> Path:
    """Return a compiled test program or library of the directory `suite` of tests/."""
    path = binary_dir() / suite / name
    if not path.exists():
        raise Missing(f"{path} does not exist; run ./dev test, or build the C++ tests")
    return path


def need_shared_memory() -> None:
    """Skip the test if /dev/shm has no room for a named semaphore."""
    try:
        with tempfile.TemporaryFile(dir="/dev/shm") as file:
            os.posix_fallocate(file.fileno(), 0, mmap.PAGESIZE)
    except OSError as error:
        pytest.skip(f"named semaphores need room in /dev/shm: {error.strerror}")
