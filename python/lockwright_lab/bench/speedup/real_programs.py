"""Real programs with an option that makes a mutex's sections shorter, or splits it: `real/`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Literal

import msgspec
from lockwright.base import documents, invocation
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.base.progress import print_line
from lockwright.experiment import Outcome
from lockwright.profile import record
from lockwright.profile.record import Mutex, Profile

from lockwright_lab.bench.program_runs import ProgramRuns
from lockwright_lab.bench.speedup.subjects import Found, found_in
from lockwright_lab.study.campaign.local_machine import missing
from lockwright_lab.study.program import entry
from lockwright_lab.study.program.entry import LOWER, Count, Program

FOLDER = Path(__file__).parent / "real"

_SCALE = 4.0
"""Work of a run with windows, as a multiple of that of a measured run."""

_SLOWER = 20.0
"""Limit of a command of several runs, as a multiple of that of one run."""

_LEAST, _MOST = 5, 99
"""Per cent by which sections can be shorter: less is within the noise."""


class _Option(Table, frozen=True):
    """A value of the option: words of the command, after the change beside those before, and its
    name. splits: with it, hardly a thread
    waits for the mutex, whose sections are as long as before."""

    name: str
    words: Mapping[str, str]
    splits: bool = False


class _File(Table, frozen=True):
    """A program. mutex: a word of the mutexes' names, as for --mutex; empty for the one with most
    time held. progress: what the experiments' gain is measured by: the rate of the mutex in one
    run, whose work is {s}, or the program's figure in several runs."""

    program: Mapping[str, Any]
    before: _Option
    after: tuple[_Option, ...]
    mutex: str = ""
    threads: Count = 2
    progress: Literal["mutex", "figure"] = "mutex"


@dataclass(frozen=True)
class Change:
    """A change of a program's option, after which its sections are shorter, or nobody waits.
    programs: before and after; mutex, progress, splits: as in a file."""

    program: str
    name: str
    threads: int
    mutex: str
    progress: str
    programs: tuple[Program, Program]
    splits: bool = False

    @property
    def key(self) -> str:
        """The name of its cell."""
        return f"{self.program}, {self.name}"


def names() -> list[str]:
    """Return the names of the programs."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def changes(chosen: Sequence[str]) -> list[Change]:
    """Return all changes of named programs; of all without a name. Raises LockwrightError for
    unknown names, and for programs that are not installed."""
    found = []
    for name in chosen or names():
        if name not in names():
            raise LockwrightError(f"no real program is named '{name}'", nearest_hint(name, names()))
        found += _read(FOLDER / f"{name}.toml")
    return found


def _read(path: Path) -> list[Change]:
    document = documents.load(_File, path)
    program = entry.read({"name": path.stem, **document.program}, f"{path}: program")
    if absent := missing(program):
        packages = " ".join(program.packages)
        raise LockwrightError(
            f"{path.stem} needs {', '.join(absent)}", f"apt-get install {packages}, or leave it out"
        )
    before, *after = (
        msgspec.structs.replace(
            program, words={**program.words, **document.before.words, **each.words}
        )
        for each in (document.before, *document.after)
    )
    return [
        Change(
            path.stem,
            f"{document.before.name} to {option.name}",
            document.threads,
            document.mutex,
            document.progress,
            (before, changed),
            option.splits,
        )
        for option, changed in zip(document.after, after, strict=True)
    ]


@dataclass(frozen=True)
class Prober:
    """Makes the experiments. folder: of profiles and results; pairs: profiles of both forms, in
    turn, since a machine's speed changes from run to run."""

    runs: ProgramRuns
    folder: Path
    pairs: int

    def found(self, all_changes: Sequence[Change]) -> dict[str, Any]:
        """Return the fields of `subjects.Experiments`, by the keys of the changes. Each is tried;
        one that cannot be experimented with has a problem instead."""
        self.folder.mkdir(parents=True, exist_ok=True)
        of, problems = {}, []
        for number, change in enumerate(all_changes, 1):
            print_line(f"experiments on {change.key}, {number} of {len(all_changes)}")
            try:
                of[change.key] = [vars(self._one(change))]
            except LockwrightError as error:
                problems.append(f"{change.key}: {error.what}")
        return {"of": of, "problems": problems}

    def _one(self, change: Change) -> Found:
        first = self._profile(change, 0)
        word = change.mutex or max(first.mutexes, key=lambda each: each.holding.total).name
        result = self.folder / f"{_file_name(change.key)}.experiments.json"
        words = ["what-if", "--measure", "--mutex", word, *self._change(change, word)]
        words += ["--json", str(result)]
        words += figure_words(change.programs[0]) if change.progress == "figure" else []
        scale = _SCALE if change.progress == "mutex" else 1.0
        self._run(change, 0, words, result, scale)
        (found,) = found_in(result)
        return found

    def _change(self, change: Change, word: str) -> list[str]:
        """Return the option of the experiment."""
        if change.splits:
            return ["--no-waiting"]
        pairs = [
            [_section(self._profile(change, n), word) for n in (0, 1)] for _ in range(self.pairs)
        ]
        left = geometric_mean(after / before for before, after in pairs)
        shorter = round(100 * (1 - left))
        if not _LEAST <= shorter <= _MOST:
            raise LockwrightError(
                f"sections of {word} are {shorter} % shorter", "give another option"
            )
        return ["--section", f"{1 - shorter / 100:g}"]

    def _profile(self, change: Change, side: int) -> Profile:
        """Return a new profile before (0) or after (1) the change."""
        path = self.folder / f"{_file_name(change.key)}.{side}.profile.json"
        outcome = self._run(change, side, ["profile", "-o", str(path)], path)
        if not outcome.finished:
            raise LockwrightError(f"the profiled run failed: {outcome.note}", "run it alone")
        return record.read(path)

    def _run(
        self, change: Change, side: int, words: Sequence[str], path: Path, scale: float = 1.0
    ) -> Outcome:
        """Run a program below a command of `lockwright`, which has to write a file."""
        path.unlink(missing_ok=True)
        program = change.programs[side]
        limit = min(1e9, _SLOWER * program.timeout)
        around = [*invocation.command_words(), *words, "--"]
        outcome = self.runs.run(
            msgspec.structs.replace(program, timeout=limit),
            change.threads,
            around=around,
            scale=scale,
        )
        if not path.exists():
            why = outcome.note.strip().splitlines() or [outcome.ended]
            raise LockwrightError(f"{words[0]} failed: {why[-1]}", "run it alone")
        return outcome


def figure_words(program: Program) -> list[str]:
    """Return the options of `what-if --measure` for the program's figure as its progress."""
    metric = program.metric
    if metric.reader == "wall":
        return ["--progress", "end"]
    lower = ["--lower-is-better"] if metric.better == LOWER else []
    return ["--metric", metric.pattern, *lower]


def _section(profile: Profile, word: str) -> float:
    """Return the mean ns of the sections of all mutexes with a word in their names."""
    chosen: list[Mutex] = [each for each in profile.mutexes if word in each.name]
    count = sum(each.holding.count for each in chosen)
    if not count:
        raise LockwrightError(f"no mutex has '{word}' in its name", "correct the file")
    return sum(each.holding.total for each in chosen) / count


def _file_name(text: str) -> str:
    return "".join(each if each.isalnum() else "-" for each in text).strip("-" + os.sep)
