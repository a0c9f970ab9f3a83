"""The comparison of `lockwright tune` with a comparison of all locks: the lock found and the time.

The two commands run on programs of the catalogue. Then the locks that they found run alternately,
because the figure of the best of many locks is biased.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import Column
from lockwright.preload.locks import BASELINE
from lockwright.run.process_runner import Process, ProcessRunner, last_lines
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.alternation import PairRatio, alternate
from lockwright_lab.bench.real_program import RealProgram

SHARE = 0.22
"""Default share of compare's time that is the budget of tune."""

MINUTE = 60.0
"""Seconds in which tune should report that a program is not lock-sensitive."""

AGAINST = (
    Column("program", "its name in the catalogue, see docs/lab/programs.md."),
    Column("compare", "seconds that 'lockwright compare --locks all' took."),
    Column("best of all", "the lock with the best median there."),
    Column("gain", "its ratio to pthread there; above 1 is better."),
    Column("worst", "the ratio to pthread of the worst lock that finished all its runs."),
    Column(
        "tune",
        "seconds that 'lockwright tune' took, its profile included, and their share of compare's.",
    ),
    Column("its pick", "the best lock when tune ended, which may be pthread."),
    Column(
        "pick to best",
        "the figure of its pick over that of the best of all, above 1 is better: the geometric mean"
        " over further rounds in which both run, with a 95 % confidence interval that stays valid"
        " although the rounds end by it.",
    ),
    Column(
        "within 5 %",
        "the pick is within 5 % of the best of all, or better: shown if the interval is above 0.95,"
        " refuted if it is below, else not shown.",
    ),
)

ALONE = (
    Column("program", "its name in the catalogue."),
    Column("tune", "seconds that 'lockwright tune' took."),
    Column(
        "says so", f"yes if tune reported within {MINUTE:.0f} s that locks matter little to it."
    ),
    Column("bound", "no tested lock is better than pthread by more than this."),
)


@dataclass(frozen=True)
class Settings:
    """The options of the command."""

    threads: int
    seconds: float
    runs: int
    timeout: float
    budget: str | None
    pairs: int


@dataclass(frozen=True)
class Tuned:
    """The result of tune. bound: the most that a lock can gain, as a ratio; None if unknown.

    insensitive: True if it reported that locks matter little, by the profile or by the runs.
    """

    seconds: float
    pick: str
    sentence: str
    insensitive: bool
    bound: float | None

    @property
    def in_time(self) -> bool:
        """True if it reported within MINUTE that the program is insensitive."""
        return self.insensitive and self.seconds < MINUTE


@dataclass(frozen=True)
class Compared:
    """The result of comparing all locks. gain, worst: ratios to pthread, None if it did not end."""

    seconds: float
    best: str
    gain: float | None
    worst: float | None


@dataclass(frozen=True)
class ProgramResults:
    """The results of one lock-sensitive program. against: the ratio of the pick to the best."""

    compared: Compared
    tuned: Tuned
    against: PairRatio

    @property
    def share(self) -> float:
        """The share of tune's time in compare's."""
        return self.tuned.seconds / self.compared.seconds


def measure(program: RealProgram, settings: Settings) -> ProgramResults:
    """Compare all locks, tune, and compare the two results."""
    compared = compare(program, settings)
    budget = settings.budget or f"{SHARE * compared.seconds:.0f}s"
    tuned = tune(program, replace(settings, budget=budget))
    against = alternate(program, tuned.pick, compared.best, settings.pairs, settings.timeout)
    return ProgramResults(compared, tuned, against)


def compare(program: RealProgram, settings: Settings) -> Compared:
    """Run `lockwright compare` with all locks."""
    words = ("--locks", "all", "--warmup", "0", "--runs", str(settings.runs))
    limit = ("--timeout", f"{settings.timeout:g}")
    document, seconds = _run(program, "compare", (*words, *limit))
    best = next((row for row in document["summaries"] if row["mark"] == "*"), None)
    if best is None:
        raise LockwrightError("no lock finished its runs", "give a longer --timeout")
    ratios = [
        Ratio(**row["ratio"]).value
        for row in document["summaries"]
        if row["ratio"] is not None and len(row["values"]) == settings.runs
    ]
    gain = None if best["ratio"] is None else Ratio(**best["ratio"]).value
    return Compared(seconds, best["lock"], gain, min(ratios, default=None))


def tune(program: RealProgram, settings: Settings) -> Tuned:
    """Run `lockwright tune`, which limits the time of its runs itself."""
    budget = ("--budget", settings.budget) if settings.budget else ()
    document, seconds = _run(program, "tune", budget)
    races, verdict = document["tune"]["races"], document["verdict"]
    race = races[0] if races else {}
    return Tuned(
        seconds,
        race.get("best") or BASELINE,
        verdict["sentence"],
        verdict["command"] is None
        and bool(not document["tune"]["sensitive"] or race.get("no_gain")),
        race.get("bound"),
    )


def _run(
    program: RealProgram, command: str, options: Sequence[str]
) -> tuple[dict[str, Any], float]:
    """Return the JSON document of a command, and the seconds that it took."""
    results = program.folder / f"{command}.json"
    files = ("--json", str(results), "--db", str(results.with_suffix(".sqlite")))
    options = [*options, *program.options, *files]
    words = [*invocation.command_words(), command, *options, "--", *program.words]
    with ProcessRunner() as runner:
        ending = runner.run(Process(words, program.environment, out="nowhere"), math.inf)
    if (problem := ending.problem()) is not None:
        raise LockwrightError(
            f"'lockwright {command}' failed: {last_lines(ending.errors) or problem}",
            "run it by itself to see why",
        )
    return json.loads(results.read_text()), ending.wall
