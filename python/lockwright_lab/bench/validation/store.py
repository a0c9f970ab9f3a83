"""The file of a validation: its options, then one line for each run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lockwright.run.run_log import RunLog

from lockwright_lab.bench.validation.cells import Rate, Rates

RUNS = "validation.jsonl"


_LOWEST = 1e-9
"""Operations per second: no run takes years for one. Quotients of lower rates may be 0."""


@dataclass(frozen=True)
class _Settings:
    """The first line: options in seconds, and the conditions."""

    seconds: float
    warm_up: float
    timeout: float
    loops_per_us: float
    facts: dict[str, Any]


@dataclass(frozen=True)
class _StoredRate(Rate):
    """A line of the file."""

    def __post_init__(self) -> None:
        if not (self.rate == 0 or self.rate >= _LOWEST):
            raise ValueError(f"rate is {self.rate}")


def log(directory: Path) -> RunLog:
    """Return the file of the runs of a validation in a directory."""
    return RunLog(directory / RUNS, "validation")


def begin(directory: Path, settings: Mapping[str, Any]) -> None:
    """Create the directory and the file. Raises LockwrightError if the file exists."""
    log(directory).prepare_directory()
    log(directory).begin(settings)


def load(directory: Path) -> tuple[dict[str, Any], Rates]:
    """Return the options and the runs, without an incomplete line. Raises LockwrightError if it
    cannot be resumed."""
    settings = log(directory).settings(_Settings)
    rates = Rates()
    for rate in log(directory).records("rate", _StoredRate):
        rates.add(rate)
    return dict(vars(settings)), rates


def add(directory: Path, run: Rate) -> None:
    """Append a run."""
    log(directory).append(asdict(run))
