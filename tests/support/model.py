"""Runs of the build's `model-check`, one for each lock."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import locate

PROGRAM = locate.ROOT / "build/model/tests/model/model-check"

_ROW = re.compile(r"^(\S+) +(\S+) +(\d) +(\d+) +(\S+) +([\d.]+)  (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One program of check lock, as the checker reports it."""

    algorithm: str
    scenario: str
    threads: int
    interleavings: int
    extent: str
    seconds: float
    verdict: str


def subjects() -> list[str]:
    """Return the names of the locks that it checks: all but the C library's mutex."""
    done = subprocess.run([PROGRAM, "names"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def rows(text: str) -> list[Row]:
    """Return the rows of a table that `model-check locks` printed."""
    return [
        Row(algorithm, scenario, int(threads), int(interleavings), extent, float(seconds), verdict)
        for algorithm, scenario, threads, interleavings, extent, seconds, verdict in _ROW.findall(
            text
        )
    ]


def run_each(
    names: Sequence[str],
    arguments: Callable[[str], list[str]],
    jobs: int,
    show: Callable[[str, str], None],
) -> dict[str, str]:
    """Run the program for each name, `jobs` at a time; show and return the output of each.

    Progress goes to standard error. Ctrl-C kills what was started.
    """
    begin = time.monotonic()
    texts: dict[str, str] = {}
    running: set[subprocess.Popen[str]] = set()
    guard = threading.Lock()
    stop = threading.Event()

    def progress() -> None:
        spent = time.monotonic() - begin
        left = spent / len(texts) * (len(names) - len(texts))
        text = f"{len(texts)} of {len(names)} locks, about {left / 60:.0f} min to go"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif len(texts) % 10 == 0:
            print(text, file=sys.stderr, flush=True)

    def check(name: str) -> None:
        with guard:
            if stop.is_set():
                return
            process = subprocess.Popen(
                [PROGRAM, *arguments(name), "--only", name],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            running.add(process)
        text, _ = process.communicate()
        with guard:
            running.discard(process)
            if stop.is_set():
                return
            if process.returncode < 0:
                text += f"model-check died: {signal.Signals(-process.returncode).name}\n"
            texts[name] = text
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            show(name, text)
            sys.stdout.flush()
            if len(texts) < len(names):
                progress()

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in [pool.submit(check, name) for name in names]:
                done.result()
        except BaseException:
            stop.set()
            with guard:
                for process in running:
                    process.kill()
            pool.shutdown(cancel_futures=True)
            raise
    return texts


def parse_names(text: str) -> list[str]:
    """Return the names of an option with commas, all for "". Raises locate.Missing."""
    known = subjects()
    names = text.split(",") if text else known
    for name in names:
        if name not in known:
            raise locate.Missing(f"there is no lock '{name}'; there are {', '.join(known)}")
    return names


def processors() -> int:
    return len(os.sched_getaffinity(0))
