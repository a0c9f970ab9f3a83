"""What precedes the runs of the validation: the profiles, and the predictions from them."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base import documents, files, invocation
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell

from lockwright_lab.bench.real_program import RealProgram, real_program
from lockwright_lab.bench.validation import predicted
from lockwright_lab.bench.validation.predicted import Gains, Rates
from lockwright_lab.bench.validation.subjects import Case, Subject
from lockwright_lab.study.campaign.local_machine import Folders

_PROFILING = 60.0
"""Limit of a profiled run in seconds."""

_AGAIN = "remove it, and its predictions are made again"

_SIMULATION = 600.0
"""Limit of a simulation in seconds: a guard only, for it is never measured."""


@dataclass(frozen=True)
class Predicted:
    """The predictions of all subjects: rates as rows of subject, threads, lock and throughput;
    gains by the name of a case. problems: a line for each subject that has none."""

    rates: list[tuple[str, int, str, float]]
    gains: dict[str, float]
    problems: list[str]

    @property
    def by_key(self) -> Rates:
        return {(name, threads, lock): rate for name, threads, lock, rate in self.rates}

    @property
    def subjects(self) -> set[str]:
        """The names of the subjects that have predictions."""
        return {name for name, _, _, _ in self.rates}


def from_facts(facts: Mapping[str, Any]) -> Predicted:
    """Return the predictions that were stored before the first run."""
    return documents.typed(Predicted, dict(facts))


@dataclass(frozen=True)
class Folder:
    """The folder of the profiles and the predictions, which are not made again."""

    path: Path
    places: Folders

    def profile(self, subject: str) -> Path:
        """Return the file of a subject's profile."""
        return self._file(subject, "profile")

    def _file(self, subject: str, kind: str) -> Path:
        return self.path / f"{subject.replace(' ', '_')}.{kind}.json"

    def profiled(self, subjects: Sequence[Subject]) -> list[str]:
        """Profile the subjects that have no profile yet. Return a line for each that has none
        then."""
        self.path.mkdir(parents=True, exist_ok=True)
        problems = []
        for subject in subjects:
            if self.profile(subject.name).exists():
                continue
            print_line(f"profile of {subject.name}")
            try:
                with real_program(
                    subject.program, subject.threads, subject.scale, self.places
                ) as installed:
                    write_profile(installed, self.profile(subject.name))
            except LockwrightError as error:
                problems.append(f"{subject.name}: {error.what}")
        return problems

    def predicted(
        self, subject: Subject, machine: Machine, cells: Sequence[Cell], cases: Sequence[Case]
    ) -> tuple[Rates, Gains]:
        """Return the predictions of a profiled subject, from their file if they are in one. Raises
        LockwrightError for a profile that does not suffice."""
        profile, path = self.profile(subject.name), self._file(subject.name, "predicted")
        if path.exists() and path.stat().st_mtime >= profile.stat().st_mtime:
            stored = documents.decode(Predicted, path.read_bytes(), str(path), _AGAIN)
            rates, gains = stored.by_key, stored.gains
            has_all = all((subject.name, each.threads, each.lock) in rates for each in cells)
            if has_all and all(case.name in gains for case in cases):
                return rates, gains
        print_line(f"prediction of {subject.name}")
        rates, gains = predicted.predict(subject, profile, machine, cells, cases, _SIMULATION)
        document = vars(Predicted([(*key, rate) for key, rate in rates.items()], gains, []))
        # Whole or not at all: the program may be killed here, too.
        files.write(path, json.dumps(document) + "\n", "-o")
        return rates, gains


def write_profile(installed: RealProgram, path: Path) -> None:
    """Profile a run of the program. Raises LockwrightError if no profile was written."""
    if installed.prepare is not None:
        subprocess.run(["/bin/sh", "-c", installed.prepare], env=installed.environment, check=False)
    words = [*invocation.command_words(), "profile", "-o", str(path), "--", *installed.words]
    done = subprocess.run(
        words,
        env=installed.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=_PROFILING,
        check=False,
    )
    if not path.exists():
        lines = done.stderr.strip().splitlines()
        raise LockwrightError(lines[-1] if lines else "no profile was written", "run it by itself")
