"""The files of a validation of predictions: its options and runs, and the profiles."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.bench.predictions.subjects import Case
from lockwright.simulate.run import Cell

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""

_RUNS = "runs.jsonl"
_PREDICTED = ".predicted.json"


@dataclass(frozen=True)
class Run:
    """A measured run of a subject. rate: its throughput, or the inverse of its time; 0 if it has
    none. wall: seconds that it took; is_ended: it was ended at its limit. failure: another reason
    for having no rate, or empty."""

    subject: str
    threads: int
    lock: str
    round: int
    rate: float
    wall: float
    is_ended: bool = False
    failure: str = ""


@dataclass
class Runs:
    """All runs by subject, threads, lock and round."""

    runs: dict[tuple[str, int, str], dict[int, Run]] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        self.runs.setdefault((run.subject, run.threads, run.lock), {})[run.round] = run

    def of(self, subject: str, threads: int, lock: str) -> list[Run]:
        """Return the runs that did not fail, those that were ended at their limit among them."""
        runs = self.runs.get((subject, threads, lock), {})
        return [run for run in runs.values() if not run.failure]

    def has(self, subject: str) -> bool:
        """Return True if there is a run of a subject."""
        return any(name == subject for name, _, _ in self.runs)

    def is_missing(self, subject: str, threads: int, lock: str, number: int) -> bool:
        """Return True if the run of that round is to be made: a lock that was ended at its limit,
        or that failed, runs once."""
        runs = self.runs.get((subject, threads, lock), {})
        return number not in runs and not any(run.is_ended or run.failure for run in runs.values())

    def failures(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs.values() if run.failure]


Rates = dict[tuple[str, int, str], float]
"""Predicted throughputs by subject, threads and lock."""

Gains = dict[str, float]
"""Predicted changes of the throughput by the name of the case."""


@dataclass(frozen=True)
class Store:
    """The folder of a validation."""

    folder: Path

    def begin(self, settings: Mapping[str, Any]) -> Runs:
        """Create the folder, or resume what is there; return its runs. Raises LockwrightError if it
        was begun with other settings."""
        path = self.folder / _RUNS
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(json.dumps({"schema": SCHEMA, **settings}) + "\n")
            first, *others = path.read_text(encoding="utf-8").splitlines()
            stored = json.loads(first)
        except (OSError, ValueError) as error:
            raise LockwrightError(
                f"cannot use {path} for a validation: {error}", "give another directory with -o"
            ) from error
        for name, value in {"schema": SCHEMA, **settings}.items():
            if stored.get(name) != value:
                raise LockwrightError(
                    f"the validation in {self.folder} has {name} {stored.get(name)}, not {value}",
                    "give another directory with -o",
                )
        runs = Runs()
        for text in others:
            # The last line may be incomplete after a kill.
            with contextlib.suppress(ValueError, TypeError):
                runs.add(Run(**json.loads(text)))
        return runs

    def add(self, run: Run) -> None:
        with (self.folder / _RUNS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")

    def profile(self, subject: str) -> Path:
        """Return the file of a subject's profile."""
        return self.folder / f"{subject.replace(' ', '_')}.profile.json"

    def add_predictions(self, subject: str, rates: Rates, gains: Gains, *, is_blind: bool) -> None:
        """Replace the predictions of a subject. is_blind: nothing of it was measured before."""
        rows = [[*key, rate] for key, rate in rates.items()]
        path = self.folder / f"{subject.replace(' ', '_')}{_PREDICTED}"
        document = {"blind": is_blind, "rates": rows, "gains": gains}
        path.write_text(json.dumps(document) + "\n")

    def predicted(self) -> set[str]:
        """Return the subjects that have predictions, as in the names of their files."""
        return {path.name.removesuffix(_PREDICTED) for path in self.folder.glob(f"*{_PREDICTED}")}

    def not_blind(self) -> list[str]:
        """Return the subjects that were predicted after a run of theirs, by name."""
        return sorted(
            path.name.removesuffix(_PREDICTED)
            for path in self.folder.glob(f"*{_PREDICTED}")
            if not json.loads(path.read_text()).get("blind", False)
        )

    def has_predictions(self, subject: str, cells: Sequence[Cell], cases: Sequence[Case]) -> bool:
        """Return True if all predictions of a subject are there, of its present profile."""
        path = self.folder / f"{subject.replace(' ', '_')}{_PREDICTED}"
        if not path.exists() or path.stat().st_mtime < self.profile(subject).stat().st_mtime:
            return False
        rates, gains = self.predictions()
        return all((subject, cell.threads, cell.lock) in rates for cell in cells) and all(
            case.name in gains for case in cases
        )

    def predictions(self) -> tuple[Rates, Gains]:
        """Return the predictions of all subjects."""
        rates: Rates = {}
        gains: Gains = {}
        for path in sorted(self.folder.glob(f"*{_PREDICTED}")):
            document = json.loads(path.read_text())
            rates |= {(row[0], row[1], row[2]): row[3] for row in document["rates"]}
            gains |= document["gains"]
        return rates, gains
