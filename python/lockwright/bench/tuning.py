"""Whether `lockwright tune` finds what comparing all locks finds, and in how much of the time.

The two commands run as a user runs them, on programs of the catalogue. Then the lock that each of
them found are run in turn, for the best of many locks looks better than it is.
"""

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockwright import invocation
from lockwright.bench.report import Column
from lockwright.compare import stats
from lockwright.compare.stats import Ratio
from lockwright.errors import LockwrightError
from lockwright.locks import BASELINE
from lockwright.study.campaign.plan import EACH, NO_PINNING, Member, Plan
from lockwright.study.campaign.site import Folders, NotHere, Site, default_name, missing
from lockwright.study.program.entry import LOWER, OUTPUT, Program
from lockwright.study.program.places import Places

COLUMNS = (
    Column("program", "its name in the catalogue, see docs/programs.md."),
    Column("compare", "seconds that 'lockwright compare --locks all' took."),
    Column("best of all", "the lock with the best median there."),
    Column("gain", "its ratio to pthread there; above 1 is better."),
    Column("tune", "seconds that 'lockwright tune' took, its profile included."),
    Column("share", "those seconds, in per cent of compare's."),
    Column("its pick", "the lock that led when tune ended, which may be pthread."),
    Column(
        "pick to best",
        "how many times as good its pick is as the best of all: the geometric mean over --pairs"
        " further rounds in which both run, with its 95 % confidence interval.",
    ),
)


@dataclass(frozen=True)
class Settings:
    """Options: see the command."""

    threads: int
    scale: float
    runs: int
    timeout: float
    budget: str | None
    pairs: int


@dataclass(frozen=True)
class Found:
    """What came of one program. against: the pick to the best of all."""

    program: str
    tune_seconds: float
    pick: str
    sentence: str
    compare_seconds: float | None = None
    best: str | None = None
    gain: Ratio | None = None
    against: Ratio | None = None

    @property
    def share(self) -> float | None:
        """Of compare's time, that which tune took."""
        return None if self.compare_seconds is None else self.tune_seconds / self.compare_seconds


@dataclass(frozen=True)
class Task:
    """A program as compare and tune are told of it."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    environment: dict[str, str]
    folder: Path


@contextmanager
def task(program: Program, settings: Settings, folders: Folders) -> Iterator[Task]:
    """The program with its files and inputs, for as long as the block lasts.

    Raises LockwrightError for one that is not installed, or that needs more than a command.
    """
    if absent := missing(program):
        raise LockwrightError(
            f"{program.name} needs {', '.join(absent)}",
            f"lockwright study catalogue --install {program.name}",
        )
    if program.server or program.before or isinstance(program.command, str):
        raise LockwrightError(
            f"{program.name} is more than one command", "choose programs without a server"
        )
    threads = min(max(settings.threads, program.least), program.most)
    member = Member(program, settings.scale)
    plan = Plan("", (BASELINE,), (member,), (threads,), (), (NO_PINNING,), 1, 0, 1, 1.0, 1, EACH)
    with Site(default_name(), plan, folders) as site, tempfile.TemporaryDirectory() as place:
        try:
            data = site.inputs_of(member)
        except NotHere as error:
            raise LockwrightError(f"{program.name}: {error}", "choose another program") from error
        work = Path(place)
        filled = Places(program, threads, settings.scale, data, work, Path())
        for name, text in program.files.items():
            (work / name).write_text(filled.fill(text))
        environment = dict(os.environ)
        environment |= {name: filled.fill(value) for name, value in program.environment.items()}
        if program.preload:
            environment["LD_PRELOAD"] = ":".join(program.preload)
        words = tuple(filled.words(program.command))
        yield Task(words, _metric(program), environment, work)


def _metric(program: Program) -> tuple[str, ...]:
    metric = program.metric
    if metric.way == "wall":
        return ()
    if metric.way != "regex" or metric.source != OUTPUT or metric.skip:
        raise LockwrightError(
            f"the figure of {program.name} is not one that --metric reads", "choose another program"
        )
    better = ("--lower-is-better",) if metric.better == LOWER else ()
    return ("--metric", metric.pattern, "--unit", metric.unit, *better)


def measure(program: Program, settings: Settings, one: Task) -> Found:
    """Compares all locks, tunes, and holds the two results against each other."""
    limit = _limit(settings)
    compared, seconds = _run(one, "compare", (*limit, "--runs", str(settings.runs)))
    best = next(row for row in compared["summaries"] if row["mark"] == "*")
    found = tune(program, settings, one)
    return replace(
        found,
        compare_seconds=seconds,
        best=best["lock"],
        gain=None if best["ratio"] is None else Ratio(**best["ratio"]),
        against=_against(one, found.pick, best["lock"], settings, limit),
    )


def tune(program: Program, settings: Settings, one: Task) -> Found:
    """Only tunes."""
    budget = ("--budget", settings.budget) if settings.budget else ()
    tuned, seconds = _run(one, "tune", (*_limit(settings), *budget))
    races = tuned["tune"]["races"]
    pick = (races[0]["best"] if races else None) or BASELINE
    return Found(program.name, seconds, pick, tuned["verdict"]["sentence"])


def _limit(settings: Settings) -> tuple[str, ...]:
    return "--timeout", f"{settings.timeout:g}"


def _against(
    one: Task, pick: str, best: str, settings: Settings, limit: Sequence[str]
) -> Ratio | None:
    if pick == best:
        return Ratio(1.0, 1.0, 1.0, 0.0, 0)
    locks = ("--locks", f"{pick},{best}", "--warmup", "0", "--runs", str(settings.pairs))
    found, _ = _run(one, "compare", (*locks, *limit))
    values: dict[str, dict[int, float]] = {pick: {}, best: {}}
    for run in found["runs"]:
        if run["lock"] in values and run["value"] is not None and math.isfinite(run["value"]):
            values[run["lock"]][run["round"]] = run["value"]
    both = sorted(values[pick].keys() & values[best].keys())
    return stats.paired_ratio(
        [values[pick][number] for number in both],
        [values[best][number] for number in both],
        found["plan"]["lower_is_better"],
    )


def _run(one: Task, command: str, options: Sequence[str]) -> tuple[dict[str, Any], float]:
    """What a command writes as JSON, and the seconds that it took."""
    results, base = one.folder / f"{command}.json", one.folder / f"{command}.sqlite"
    files = ("--json", str(results), "--db", str(base))
    words = [*invocation.words(), command, *options, *one.options, *files, "--", *one.words]
    began = time.monotonic()
    done = subprocess.run(
        words,
        env=one.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise LockwrightError(
            f"'lockwright {command}' failed: {lines[-1] if lines else done.returncode}",
            "run it by itself to see why",
        )
    return json.loads(results.read_text()), seconds
