"""The programs of the validation of predictions: their runs, and the changes that are options."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.run.bench_program import program as bench_program
from lockwright.simulate.figures import BASELINE
from msgspec import structs

from lockwright_lab.study.program import catalogue
from lockwright_lab.study.program.entry import HIGHER, LOWER, OUTPUT, Metric, Program

PROGRAMS = (
    *("git-grep", "kyoto-cache", "kyoto-jemalloc", "kyoto-tree", "node-pool", "pbzip2"),
    *("perl-queue", "pigz", "python-queue", "rocksdb-fillrandom", "rocksdb-one-shard"),
    *("rocksdb-readrandom", "sysbench-mutex", "sysbench-threads"),
)
"""Programs of the catalogue that take mutexes and need no server."""

THREADS = (2, 8, 4, 16, 1)
"""Numbers of threads, the most telling first, since time may not suffice for all."""

PROFILED_THREADS = 2

LOCKS = (
    *("pthread", "futex", "adaptive", "spinlock", "ttas", "backoff", "mutexee", "ticket"),
    *("mcs-spin", "mcs-stp", "clh-stp", "c-bo-mcs-stp", "gcr-mcs-stp", "go-mutex", "parking-lot"),
    *("malth-stp", "lifo-cr", "cna", "shfllock-stp", "twa"),
)
"""Locks of every category and of every way to wait."""

CHANGED_THREADS = (1, 4, 8)
"""Numbers of threads in place of PROFILED_THREADS that count as changes."""

SECTION, SHARDS, COUNT = "section", "shards", "threads"
"""The kinds of changes; each has a factor, or the number of threads."""


@dataclass(frozen=True)
class Subject:
    """A program in one form. threads: of each run. scale: of its work. is_whole: its figure is the
    time of the whole run."""

    name: str
    program: Program
    threads: int
    scale: float = 1.0

    @property
    def cell(self) -> str:
        """The name of its cell in the experiment."""
        return f"{self.name}/{self.threads}"

    @property
    def is_whole(self) -> bool:
        return self.program.metric.reader == "wall"


@dataclass(frozen=True)
class Case:
    """A change of a program that is an option of it. before, after: the two forms; kind: SECTION,
    SHARDS or COUNT; value: the factor of the sections' length, the number of mutexes instead of
    one, or the number of threads."""

    before: Subject
    after: Subject
    kind: str
    value: float

    @property
    def name(self) -> str:
        return f"{self.before.name}: {self.kind} {self.value:g}"


_TIME = Metric("regex", r"total time:\s+([\d.]+)s", OUTPUT, "s", LOWER)
_RATE = Metric("regex", r'"operations_per_second":([\d.e+-]+)', OUTPUT, "op/s", HIGHER)


def catalogue_subject(name: str, threads: int, seconds: float) -> Subject:
    """Return a program of the catalogue with so much work that a run takes about `seconds`."""
    program = catalogue.find(name)
    if name.startswith("sysbench"):
        program = structs.replace(program, metric=_TIME)
    command = [word.replace(",verifychecksum", "") for word in program.command]
    program = structs.replace(program, command=tuple(command))
    scale = min(1.0, seconds / program.seconds) if program.seconds else 1.0
    return Subject(name, program, threads, scale)


def drawn(subject: Subject, locks: Sequence[str], number: int, seed: int) -> list[str]:
    """Return BASELINE and so many of the other locks, drawn for the program and its number of
    threads, in the order of `locks`."""
    others = [lock for lock in locks if lock != BASELINE]
    draw = random.Random(f"{seed} {subject.name} {subject.threads}")
    chosen = set(draw.sample(others, min(number, len(others))))
    return [BASELINE, *(lock for lock in others if lock in chosen)]


def _with_words(subject: Subject, suffix: str, words: Mapping[str, str]) -> Subject:
    """Return the subject with some words of its command replaced."""
    command = tuple(words.get(word, word) for word in subject.program.command)
    program = structs.replace(subject.program, command=command)
    return replace(subject, name=f"{subject.name} {suffix}", program=program)


@dataclass(frozen=True)
class _Own:
    """A workload of lockwright-bench. options: that stay; section: options of the sections' length,
    by their value; sections: factors of it; mutexes: the option of their number; shards: its values
    in place of 1."""

    name: str
    workload: str
    options: Mapping[str, int]
    section: Mapping[str, int]
    sections: Sequence[float]
    mutexes: str = ""
    shards: Sequence[int] = ()

    def subject(self, threads: int, seconds: float, factor: float = 1, mutexes: int = 1) -> Subject:
        lengths = {name: round(value * factor) for name, value in self.section.items()}
        values: dict[str, object] = {**self.options, **lengths}
        values |= {self.mutexes: mutexes} if self.mutexes else {}
        values |= {"seconds": seconds, "warm-up": 0.05, "threads": threads}
        words = [word for name, value in values.items() for word in (f"--{name}", str(value))]
        command = (str(bench_program()), self.workload, *words)
        name = f"{self.name}-{factor:g}-{mutexes}"
        return Subject(name, Program(name, command, _RATE), threads)


def _single(name: str, gap: int, section: int, sections: Sequence[float]) -> _Own:
    return _Own(name, "single-lock", {"gap-cycles": gap}, {"section-cycles": section}, sections)


def _several(
    name: str, gap: int, section: int, sections: Sequence[float], shards: Sequence[int]
) -> _Own:
    options = {"gap-cycles": gap}, {"section-cycles": section}
    return _Own(name, "variable-contention", *options, sections, "mutexes", shards)


_LOOPS = {"gap-loops": 5000}, {"section-loops": 2000}

_OWN = (
    _single("own-short", 2000, 1000, (0.5, 0.25, 2)),
    _single("own-long", 20000, 20000, (0.5, 0.25, 2)),
    _single("own-rare", 20000, 2000, (0.5, 4)),
    _single("own-always", 0, 5000, (0.5, 0.25)),
    _Own("own-drawn", "lockbench", {"gap-max-ns": 3700}, {"section-max-ns": 3700}, (0.5, 2)),
    _several("own-mutexes", 2000, 2000, (0.5, 2), (2, 4, 8, 16)),
    _several("own-mutexes-long", 5000, 20000, (0.5,), (2, 4, 8)),
    _Own("own-loops", "stress-latency", *_LOOPS, (0.5, 2), "mutexes", (2, 4, 8)),
)

_REAL_SHARDS: Mapping[str, tuple[Mapping[str, str], str, Mapping[int, str]]] = {
    "rocksdb-one-shard": (
        {},
        "--cache_numshardbits=0",
        {2**bits: f"--cache_numshardbits={bits}" for bits in (1, 2, 4)},
    ),
    "sysbench-mutex": ({}, "--mutex-num=1", {n: f"--mutex-num={n}" for n in (2, 4, 16)}),
    "sysbench-threads": (
        {"--thread-locks=2": "--thread-locks=1"},
        "--thread-locks=1",
        {n: f"--thread-locks={n}" for n in (2, 4, 8)},
    ),
}
"""By program: words to replace first, the word with the number of mutexes, and those in its place
by the factor of their number."""


def cases(programs: Sequence[str], seconds: float) -> list[Case]:
    """Return all changes. programs: of PROGRAMS; seconds: of a run."""
    found = [case for own in _OWN for case in _own_cases(own, seconds)]
    for name, (first, word, shards) in _REAL_SHARDS.items():
        if name not in programs:
            continue
        # Under a name of its own, so that its runs are made beside those after the changes.
        before = _with_words(
            catalogue_subject(name, PROFILED_THREADS, seconds), "with one mutex", first
        )
        for number, changed in shards.items():
            after = _with_words(before, changed, {word: changed})
            found.append(Case(before, after, SHARDS, number))
    for name in programs:
        before = catalogue_subject(name, PROFILED_THREADS, seconds)
        for threads in CHANGED_THREADS:
            after = replace(before, threads=threads)
            found.append(Case(before, after, COUNT, threads))
    return found


def _own_cases(own: _Own, seconds: float) -> list[Case]:
    before = own.subject(PROFILED_THREADS, seconds)

    def after(factor: float = 1, mutexes: int = 1, threads: int = PROFILED_THREADS) -> Subject:
        return own.subject(threads, seconds, factor, mutexes)

    return [
        *(Case(before, after(factor), SECTION, factor) for factor in own.sections),
        *(Case(before, after(mutexes=number), SHARDS, number) for number in own.shards),
        *(Case(before, after(threads=threads), COUNT, threads) for threads in CHANGED_THREADS),
    ]
