"""Functions that run a program to its end and check how it ended."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from . import forks


def captured(
    words: Sequence[str | Path], *, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output and status; `options` go to subprocess.run."""
    if options.keys() <= {"cwd", "env", "input"}:
        environment = os.environ if options.get("env") is None else options["env"]
        if forks.can_run(words, environment):
            folder, text = options.get("cwd") or Path.cwd(), options.get("input") or ""
            return forks.run(words, environment, folder, text, timeout)
    return subprocess.run(
        words, capture_output=True, text=True, timeout=timeout, check=False, **options
    )


def compiled(folder: Path, name: str, source: str, *options: str, suffix: str = "c") -> Path:
    """Build a program or a library from a text of C or C++, with pthreads, and return its path."""
    compiler = shutil.which("cc" if suffix == "c" else "c++")
    if compiler is None:
        pytest.skip("there is no compiler")
    (folder / f"{name}.{suffix}").write_text(source)
    words = [compiler, "-g", "-pthread", *options, f"{name}.{suffix}", "-o", name]
    done = captured(words, cwd=folder)
    if done.returncode != 0 and any(each.startswith("-fsanitize=") for each in options):
        pytest.skip("the compiler has no such sanitizer")
    assert done.returncode == 0, done.stderr
    return folder / name


def shell_script(path: Path, text: str) -> Path:
    """Write an executable shell script and return its path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def running(*texts: str | Path) -> list[int]:
    """Return the processes whose command line has all the texts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes()
            if all(os.fsencode(text) in line for text in texts):
                found.append(int(path.parent.name))
    return found


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until the condition holds; fail after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def assert_refused(status: int, out: str, err: str, *parts: str) -> None:
    """Assert status 2, no output, and one line of explanation and advice that has all `parts`."""
    assert (status, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert err.startswith("lockwright: ")
    assert "; " in err, "no advice"
    for part in parts:
        assert part in err
