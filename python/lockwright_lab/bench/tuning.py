"""The comparison of `lockwright tune` with a comparison of all locks: the lock found and the time.

The two commands run on programs of the catalogue. Then the locks that they found run alternately,
because the figure of the best of many locks is biased.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.base import invocation, numbers
from lockwright.base.errors import LockwrightError
from lockwright.experiment import (
    FAILED,
    Cell,
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.preload.locks import BASELINE
from lockwright.run.process_runner import Process, ProcessRunner, last_lines
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.alternation import PairRatio, alternate
from lockwright_lab.bench.parts import Parts
from lockwright_lab.bench.real_program import RealProgram, real_program
from lockwright_lab.bench.runs import processors
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import Program

SHARE = 0.22
"""Default share of compare's time that is the budget of tune."""

MINUTE = 60.0
"""Seconds in which tune should report that a program is not lock-sensitive."""

COMPARED, ONLY_TUNED = "tune against all locks", "tune of programs that are not lock-sensitive"
"""The cells: of programs that are also compared under all locks, and of those only tuned."""


def _column(heading: str, definition: str) -> Column:
    def text(row: Summary) -> str:
        texts = [made.get(heading, "-") for made in row.details("row")]
        return texts[0] if texts else make.no_value(row)

    return Column(heading, definition, text)


AGAINST = (
    make.name("program", "its name in the catalogue, see docs/lab/programs.md."),
    _column("compare", "seconds that 'lockwright compare --locks all' took."),
    _column("best of all", "the lock with the best median there."),
    _column("gain", "its ratio to pthread there; above 1 is better."),
    _column("worst", "the ratio to pthread of the worst lock that finished all its runs."),
    _column(
        "tune",
        "seconds that 'lockwright tune' took, its profile included, and their share of compare's.",
    ),
    _column("its pick", "the best lock when tune ended, which may be pthread."),
    _column(
        "pick to best",
        "the figure of its pick over that of the best of all, above 1 is better: the geometric mean"
        " over further rounds in which both run, with a 95 % confidence interval that stays valid"
        " although the rounds end by it.",
    ),
    _column(
        "within 5 %",
        "the pick is within 5 % of the best of all, or better: shown if the interval is above 0.95,"
        " refuted if it is below, else not shown.",
    ),
)

ALONE = (
    make.name("program", "its name in the catalogue."),
    _column("tune", "seconds that 'lockwright tune' took."),
    _column(
        "says so", f"yes if tune reported within {MINUTE:.0f} s that locks matter little to it."
    ),
    _column("bound", "no tested lock is better than pthread by more than this."),
)


@dataclass(frozen=True)
class Settings:
    """The options of the command."""

    threads: int
    seconds: float
    runs: int
    timeout: float
    budget: float | None
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
    budget = settings.budget or SHARE * compared.seconds
    tuned = tune(program, replace(settings, budget=budget))
    against = alternate(program, tuned.pick, compared.best, settings.pairs, settings.timeout)
    return ProgramResults(compared, tuned, against)


def compare(program: RealProgram, settings: Settings) -> Compared:
    """Run `lockwright compare` with all locks. Raises LockwrightError if no lock ends its runs."""
    words = ("--locks", "all", "--warm-up-runs", "0", "--runs", str(settings.runs))
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
    budget = ("--budget", f"{settings.budget:.0f}s") if settings.budget else ()
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


TUNE = Figure(
    "tune_seconds",
    "s",
    lower_is_better=True,
    definition="seconds that 'lockwright tune' took, its profile included.",
)
FIGURES = [
    TUNE,
    Figure("compare_seconds", "s", lower_is_better=True, definition=AGAINST[1].definition),
    Figure("gain", "", definition=AGAINST[3].definition),
    Figure("pick_to_best", "", definition=AGAINST[7].definition),
]


def tuning(
    compared: Sequence[Program], alone: Sequence[Program], settings: Settings, places: Folders
) -> Experiment:
    """Return the experiment, whose contenders are programs. places: where their inputs are."""
    by_cell = {COMPARED: compared, ONLY_TUNED: alone}
    programs = {each.name: each for each in (*compared, *alone)}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        program, began = contender.subject, time.monotonic()
        is_compared = cell.name == COMPARED
        threads = settings.threads if is_compared else processors()
        scale = min(1.0, settings.seconds / program.seconds) if program.seconds else 1.0
        try:
            with real_program(program, threads, scale, places) as subject:
                made = _against(subject, settings) if is_compared else _alone(subject, settings)
        except LockwrightError as error:
            return Outcome(FAILED, time.monotonic() - began, note=error.what)
        remark = f"{program.name}: {made.details['sentence']}"
        details = {**made.details, "threads": threads, "scale": scale, "remarks": [remark]}
        return replace(made, wall=time.monotonic() - began, details=details)

    return Experiment(
        "tune",
        [Cell(name, {"part": name}) for name, each in by_cell.items() if each],
        [Contender(name, subject=program) for name, program in programs.items()],
        FIGURES,
        run,
        1,
        settings=vars(settings),
        tables=[
            TableOf(AGAINST, rows=lambda row: row.cell == COMPARED and bool(row.runs)),
            TableOf(ALONE, rows=lambda row: row.cell == ONLY_TUNED and bool(row.runs)),
        ],
        rule=Parts(
            TUNE.name,
            1,
            rounds={name: {each.name: 1 for each in found} for name, found in by_cell.items()},
        ),
        what="program",
        help="lockwright bench tune --help",
    )


def _against(program: RealProgram, settings: Settings) -> Outcome:
    results = measure(program, settings)
    compared, tuned, ratio = results.compared, results.tuned, results.against
    row = {
        "compare": f"{compared.seconds:.0f} s",
        "best of all": compared.best,
        "gain": "-" if compared.gain is None else numbers.ratio(compared.gain),
        "worst": "-" if compared.worst is None else numbers.ratio(compared.worst),
        "tune": f"{tuned.seconds:.0f} s, {numbers.percent(results.share)}",
        "its pick": tuned.pick,
        "pick to best": _ratio_text(ratio),
        "within 5 %": ratio.within,
    }
    figures = {
        TUNE.name: tuned.seconds,
        "compare_seconds": compared.seconds,
        "gain": compared.gain,
        "pick_to_best": ratio.ratio,
    }
    known = {name: value for name, value in figures.items() if value is not None}
    return Outcome(figures=known, details={"row": row, "sentence": tuned.sentence})


def _ratio_text(ratio: PairRatio) -> str:
    if not ratio.pairs:
        return "the same"
    low, high = numbers.ratio(ratio.low), numbers.ratio(ratio.high)
    return f"{numbers.ratio(ratio.ratio)} ({low} to {high}, {ratio.pairs} pairs)"


def _alone(program: RealProgram, settings: Settings) -> Outcome:
    tuned = tune(program, settings)
    row = {
        "tune": f"{tuned.seconds:.0f} s",
        "says so": "yes" if tuned.in_time else "no",
        "bound": "-" if tuned.bound is None else numbers.percent(tuned.bound - 1, 1),
    }
    return Outcome(
        figures={TUNE.name: tuned.seconds}, details={"row": row, "sentence": tuned.sentence}
    )
