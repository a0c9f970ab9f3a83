"""The conditions in which advice is tried: programs, numbers of threads, and the other load."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.run.bench_program import program as bench_program

from lockwright_lab.bench.runs import processors
from lockwright_lab.bench.validation.subjects import Subject, catalogue_subject
from lockwright_lab.study.campaign.local_machine import missing
from lockwright_lab.study.program import catalogue
from lockwright_lab.study.program.entry import HIGHER, OUTPUT, Metric, Program

WITH_THREADS = ("high_contention", "extreme_contention", "holder_preemption", "hand_over")
AS_THEY_ARE = (
    *("trylock_contention", "uncontended_acquisitions", "page_clearing", "fault_handler"),
    "memory_contention",
)
"""The programs of tests/bottlenecks: those with a number of threads, and those without."""

CATALOGUE = (
    *("kyoto-cache", "kyoto-jemalloc", "rocksdb-readrandom", "rocksdb-fillrandom"),
    *("mariadb-update", "memcached", "mksquashfs", "aomenc", "pbzip2", "bowtie2"),
    *("ruby-queue", "perl-queue"),
)
"""The programs of lab/studies/half-hour.toml."""

CACHE = "cache-server"
"""A cache of the most recently used objects behind one mutex, a workload of lockwright-bench."""

NAMES = (CACHE, *WITH_THREADS, *AS_THEY_ARE, *CATALOGUE)

QUIET, BUSY = "quiet", "busy"
"""The loads: nothing else, and a program on each processor that never sleeps."""

PER_PROCESSOR = (1, 4)
"""Numbers of threads for each processor."""

_BOTTLENECK = Metric("regex", r"rate: ([\d.e+-]+)", OUTPUT, "1/s", HIGHER)
_WORKLOAD = Metric("regex", r'"operations_per_second":([\d.e+-]+)', OUTPUT, "op/s", HIGHER)


@dataclass(frozen=True)
class Conditions:
    """A cell. threads: None for a program that has no such option; is_busy: whether a program that
    never sleeps runs on each processor."""

    subject: Subject
    threads: int | None
    is_busy: bool

    @property
    def load(self) -> str:
        return BUSY if self.is_busy else QUIET

    @property
    def name(self) -> str:
        """The name of the cell."""
        threads = "as it is" if self.threads is None else f"{self.threads} threads"
        return f"{self.subject.name}, {threads}, {self.load}"


def conditions(
    names: Sequence[str], folder: Path, loads: Sequence[str], seconds: float
) -> tuple[list[Conditions], list[str]]:
    """Return the cells of the named subjects, and a line for each subject that cannot run here.
    folder: with the programs of tests/bottlenecks; seconds: of a run of the other programs. Raises
    LockwrightError if none can run."""
    cells, left_out = [], []
    counts = [each * processors() for each in PER_PROCESSOR]
    for name in names:
        if problem := _obstacle(name):
            left_out.append(f"{name} is left out: {problem}.")
            continue
        for threads in [None] if name in AS_THEY_ARE else counts:
            subject = _subject(name, threads, folder, seconds)
            cells += [Conditions(subject, threads, load == BUSY) for load in loads]
    if not cells:
        raise LockwrightError("no program can run here", " ".join(left_out))
    return cells, left_out


def _obstacle(name: str) -> str:
    if name not in CATALOGUE:
        return ""
    program = catalogue.find(name)
    if program.server is not None:
        return "it is a server, which runs beside its clients"
    if absent := missing(program):
        return f"it needs {', '.join(absent)} ('lockwright study catalogue --install {name}')"
    return ""


def _subject(name: str, threads: int | None, folder: Path, seconds: float) -> Subject:
    if name in CATALOGUE:
        return catalogue_subject(name, threads or 1, seconds)
    if name == CACHE:
        options = {"threads": threads, "seconds": seconds, "warm-up": 0.05}
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        program = Program(name, (str(bench_program()), "lru-cache", *words), _WORKLOAD)
        return Subject(name, program, threads or 1)
    words = [] if threads is None else ["--threads", str(threads)]
    return Subject(
        name, Program(name, (str(_built(name, folder)), *words), _BOTTLENECK), threads or 1
    )


def _built(name: str, folder: Path) -> Path:
    """Return a program of tests/bottlenecks. Raises LockwrightError if it was not built."""
    for path in (folder / "bottlenecks" / name, folder / name):
        if os.access(path, os.X_OK) and path.is_file():
            return path.absolute()
    raise LockwrightError(
        f"there is no program {name} in {folder}",
        "give --bottlenecks the folder build/debug/tests of a checkout ('./dev build' makes it), or"
        " leave the program out of --programs",
    )
