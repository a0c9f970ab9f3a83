"""The programs whose sections can be shorter by an option, and the experiments on them."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base import documents
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.experiment import LEFT_OUT, Outcome
from lockwright.speedup.windows import NO_WAITS, READERS, name

from lockwright_lab.bench.own_command import output_of
from lockwright_lab.bench.runs import processors

SHARES = (25, 50, 75, NO_WAITS, READERS)
"""By how many per cent sections are shorter, whether each thread has its own mutex, and whether
readers go together."""

LENGTHS = (0.1, 1.0, 10.0)
"""Factors of all times of a program. With 1, its sections last some ten microseconds."""

THREADED = ("saturated", "unsaturated", "series")
SHAPES = (*THREADED, "readers", "pipeline")
"""The programs of tests/speedup/sections.cpp; the last one has two threads."""

_SHARES: Mapping[str, Sequence[int]] = {"readers": (READERS,), "pipeline": (25, 50, 75)}
"""Those of SHARES that programs can have; others all but READERS."""

_OPTIONS = {NO_WAITS: {"split": 1.0}, READERS: {"together": 1.0}}

PER_PROCESSOR = (1, 4)
"""Threads for each processor."""

_RATE = re.compile(r"rate: (\S+)\n")
_LIMIT = 600.0
"""Seconds of a command: a guard only."""


@dataclass(frozen=True)
class Subject:
    """A program in a form. threads: None for a program that has no such option."""

    shape: str
    threads: int | None
    length: float
    program: Path

    @property
    def name(self) -> str:
        """The name of its cell."""
        threads = "" if self.threads is None else f", {self.threads} threads"
        return f"{self.shape}{threads}, length {self.length:g}"

    @property
    def shares(self) -> Sequence[int]:
        """Those of SHARES that it can have."""
        return _SHARES.get(self.shape, SHARES[:-1])

    def command(self, shorter: int, seconds: float) -> list[str]:
        """Return the command. shorter: one of SHARES, or 0."""
        options = {"length": self.length, "seconds": seconds}
        options |= _OPTIONS.get(shorter) or {"section": 1 - shorter / 100}
        options |= {} if self.threads is None else {"threads": self.threads}
        words = [word for name, value in options.items() for word in (f"--{name}", f"{value:g}")]
        return [str(self.program), self.shape, *words]

    def measured(self, shorter: int, seconds: float) -> Outcome:
        """Return a run of the changed program, with its rate."""
        if shorter not in (0, *self.shares):
            return Outcome(LEFT_OUT, note="it cannot have this change")
        command = self.command(shorter, seconds)
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
        rate = _RATE.search(done.stdout)
        if done.returncode or rate is None or "right\n" not in done.stdout:
            return Outcome("failed", note=f"status {done.returncode}")
        return Outcome(wall=seconds, figures={"rate": float(rate[1])})


def subjects(shapes: Sequence[str], lengths: Sequence[float], built: Path) -> list[Subject]:
    """Return all forms of the named programs. built: folder of the tests' programs. Raises
    LockwrightError if they were not built."""
    program = (built / "speedup" / "sections").absolute()
    if not os.access(program, os.X_OK):
        raise LockwrightError(
            f"there is no program {program}",
            "give --bottlenecks the folder build/debug/tests of a checkout ('./dev test' makes it)",
        )
    counts = [each * processors() for each in PER_PROCESSOR]
    return [
        Subject(shape, threads, length, program)
        for shape in shapes
        for threads in (counts if shape != "pipeline" else (None,))
        for length in lengths
    ]


@dataclass(frozen=True)
class Found:
    """What experiments say of a change, and what is simulated of it, if anything. shorter_percent:
    None for others; overhead: by how much longer the delays made the run, 0.1 for 10 %."""

    change: str
    shorter_percent: int | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    simulated: float | None
    overhead: float

    @property
    def share(self) -> int:
        """The share as of experiments."""
        others = {name(each): each for each in _OPTIONS}
        return others.get(self.change, self.shorter_percent or 0)


@dataclass(frozen=True)
class Experiments:
    """The experiments by subject, and a line for each one that could not be made."""

    of: Mapping[str, list[Found]]
    problems: list[str]


def experiments(given: Sequence[Subject], seconds: float, folder: Path) -> dict[str, Any]:
    """Make the profiles and experiments of all subjects, the former in a folder; return the fields
    of `Experiments`. seconds: of each run with experiments."""
    folder.mkdir(parents=True, exist_ok=True)
    of, problems = {}, []
    for number, subject in enumerate(given, 1):
        print_line(f"experiments on {subject.name}, {number} of {len(given)}")
        try:
            of[subject.name] = [vars(each) for each in _experiment(subject, seconds, folder)]
        except LockwrightError as error:
            problems.append(f"{subject.name}: {error.what}")
    return {"of": of, "problems": problems}


def known_experiments(facts: Mapping[str, Any]) -> Experiments:
    """Return what `experiments` has stored."""
    return documents.typed(Experiments, dict(facts))


def _experiment(subject: Subject, seconds: float, folder: Path) -> list[Found]:
    profile = folder / f"{subject.name.replace(', ', '-').replace(' ', '-')}.profile.json"
    result = profile.with_suffix(".experiments.json")
    output_of("profile", "-o", profile, "--", *subject.command(0, 1.0), timeout=_LIMIT)
    files: tuple[str | Path, ...] = ("--profile", profile, "--json", result)
    words: tuple[str | Path, ...] = (
        "--measure",
        "--mutex",
        "chosen",
        *(("--readers", "look_up") if READERS in subject.shares else ()),
        *files,
        "--",
        *subject.command(0, seconds),
    )
    output_of("what-if", *words, timeout=_LIMIT)
    return [each for each in found_in(result) if each.share in subject.shares]


def found_in(path: Path) -> list[Found]:
    """Return what a file of `what-if --measure --json` has of its only mutex."""
    written = documents.decode(dict[str, Any], path.read_bytes(), str(path), "measure again")
    (of_mutex,) = written["mutexes"]
    rows = [row | {"overhead": written["overhead"]} for row in of_mutex["rows"]]
    return [documents.typed(Found, row) for row in rows]
