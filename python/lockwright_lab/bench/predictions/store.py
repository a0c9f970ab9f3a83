"""The files of a validation of predictions: its options and runs, and the profiles."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lockwright.base import documents, files
from lockwright.base.errors import LockwrightError
from lockwright.run.run_log import RunLog
from lockwright.simulate.run import Cell

from lockwright_lab.bench.predictions.subjects import Case

RUNS = "runs.jsonl"
PREDICTED = ".predicted.json"


_LOWEST = 1e-9
"""The least rate or time of a run. Quotients of lower ones may be 0."""


@dataclass(frozen=True)
class Settings:
    """What all runs of a validation share. seconds: of a run under pthread, about; timeout: limit
    of a run, in seconds."""

    seconds: float
    timeout: float


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


@dataclass(frozen=True)
class _StoredRun(Run):
    """A line of the file."""

    def __post_init__(self) -> None:
        has_none = self.rate == 0 and (self.is_ended or bool(self.failure))
        if not (has_none or self.rate >= _LOWEST):
            raise ValueError(f"rate is {self.rate}")
        if self.wall < 0 or (self.is_ended and self.wall < _LOWEST):
            raise ValueError(f"wall is {self.wall}")


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

    def begin(self, settings: Settings) -> Runs:
        """Create the folder, or resume what is there; return its runs. Raises LockwrightError if it
        was begun with other settings, is damaged, or another process is at it."""
        log = self._log()
        if not log.path.exists():
            log.prepare_directory()
            log.begin(asdict(settings))
        stored = log.settings(Settings)
        for name, value in asdict(settings).items():
            if getattr(stored, name) != value:
                raise LockwrightError(
                    f"the validation in {self.folder} has {name} {getattr(stored, name)}, "
                    f"not {value}",
                    "give another directory with -o",
                )
        runs = Runs()
        for run in log.records("rate", _StoredRun):
            runs.add(run)
        log.adopt()
        return runs

    def add(self, run: Run) -> None:
        """Append a run."""
        self._log().append(asdict(run))

    def _log(self) -> RunLog:
        return RunLog(self.folder / RUNS, "validation of predictions", by_option=False)

    def profile(self, subject: str) -> Path:
        """Return the file of a subject's profile."""
        return self.folder / f"{subject.replace(' ', '_')}.profile.json"

    def add_predictions(self, subject: str, rates: Rates, gains: Gains, *, is_blind: bool) -> None:
        """Replace the predictions of a subject. is_blind: nothing of it was measured before."""
        rows = [[*key, rate] for key, rate in rates.items()]
        document = {"blind": is_blind, "rates": rows, "gains": gains}
        # Whole or not at all: the program may be killed here, too.
        files.write(self._path_of(subject), json.dumps(document) + "\n", "-o")

    def predicted(self) -> set[str]:
        """Return the subjects that have predictions, as in the names of their files."""
        return {path.name.removesuffix(PREDICTED) for path in self._predicted_files()}

    def not_blind(self) -> list[str]:
        """Return the subjects that were predicted after a run of theirs, by name."""
        return [
            path.name.removesuffix(PREDICTED)
            for path in self._predicted_files()
            if not _read(path).blind
        ]

    def has_predictions(self, subject: str, cells: Sequence[Cell], cases: Sequence[Case]) -> bool:
        """Return True if all predictions of a subject are there, of its present profile."""
        path = self._path_of(subject)
        if not path.exists() or path.stat().st_mtime < self.profile(subject).stat().st_mtime:
            return False
        rates, gains = self.predictions()
        return all((subject, cell.threads, cell.lock) in rates for cell in cells) and all(
            case.name in gains for case in cases
        )

    def predictions(self) -> tuple[Rates, Gains]:
        """Return the predictions of all subjects. Raises LockwrightError if a file is damaged."""
        rates: Rates = {}
        gains: Gains = {}
        for path in self._predicted_files():
            document = _read(path)
            rates |= {(name, threads, lock): rate for name, threads, lock, rate in document.rates}
            gains |= document.gains
        return rates, gains

    def _path_of(self, subject: str) -> Path:
        return self.folder / f"{subject.replace(' ', '_')}{PREDICTED}"

    def _predicted_files(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{PREDICTED}"))


@dataclass(frozen=True)
class _Predicted:
    """The file of a subject's predictions."""

    rates: list[tuple[str, int, str, float]]
    gains: dict[str, float]
    blind: bool = False


def _read(path: Path) -> _Predicted:
    try:
        return documents.typed(_Predicted, documents.parse_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise LockwrightError(
            f"{path} is damaged ({error})", "remove it, and its predictions are made again"
        ) from error
