"""The profiles and the measured runs of the validation of predictions."""

import contextlib
import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import progress
from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.runner import VALUE, Runner
from lockwright.preload.locks import Registry
from lockwright.run import record
from lockwright.simulate.figures import BASELINE

from lockwright_lab.bench.predictions.store import Run, Runs, Store
from lockwright_lab.bench.predictions.subjects import Subject
from lockwright_lab.bench.real_program import RealProgram, real_program
from lockwright_lab.study.campaign.local_machine import Folders

_PROFILING = 60.0
"""Limit of a profiled run in seconds."""

_AGAIN = 1000
"""Added to the number of a round in which the baseline runs again: even, and above all rounds."""


@dataclass(frozen=True)
class Limits:
    """timeout: seconds of a run. ends: monotonic time after which no further one begins."""

    timeout: float
    ends: float | None

    @property
    def is_over(self) -> bool:
        return self.ends is not None and time.monotonic() > self.ends


@contextlib.contextmanager
def _installed(subject: Subject, folders: Folders) -> Iterator[RealProgram]:
    with real_program(subject.program, subject.threads, subject.scale, folders) as installed:
        yield installed


def profile(subjects: Sequence[Subject], folders: Folders, store: Store) -> list[str]:
    """Profile the subjects that have no profile yet. Return a line for each that has none then."""
    problems = []
    missing = [each for each in subjects if not store.profile(each.name).exists()]
    with progress("predictions: profiles", len(missing)) as steps:
        for subject in missing:
            steps.step(subject.name)
            try:
                with _installed(subject, folders) as installed:
                    _profile(installed, store.profile(subject.name))
            except LockwrightError as error:
                problems.append(f"{subject.name}: {error.what}")
    return problems


def _profile(installed: RealProgram, path: Path) -> None:
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


def measure(
    subjects: Sequence[tuple[Subject, Sequence[str]]],
    rounds: int,
    limits: Limits,
    registry: Registry,
    folders: Folders,
    runs: Runs,
    store: Store,
) -> bool:
    """Make the missing runs of all subjects under their locks by rounds, the locks of a subject in
    an order shuffled for the round. Return True if none is missing then."""
    order = [(*each, number) for number in range(rounds) for each in subjects]
    missing = sum(len(_missing(*each, runs)) for each in order)
    with progress("predictions: runs", missing) as steps:
        for subject, locks, number in order:
            left = _missing(subject, locks, number, runs)
            if not left:
                continue
            if limits.is_over:
                return False
            with _installed(subject, folders) as installed:
                plan = installed.plan(tuple(locks), rounds, limits.timeout)
                with Runner(plan, installed.file, environment=installed.environment) as runner:
                    for slot, lock in left:
                        steps.step(f"{lock}, {subject.name}, {subject.threads} threads")
                        if limits.is_over or not _is_missing(runs, subject, lock, slot):
                            continue
                        made = _run(runner, installed, subject, slot, lock, registry, limits)
                        runs.add(made)
                        store.add(made)
    return not any(_missing(*each, runs) for each in order)


def _missing(
    subject: Subject, locks: Sequence[str], number: int, runs: Runs
) -> list[tuple[int, str]]:
    """Return the missing runs of a round: its number and the lock. The baseline, to which all are
    compared, runs three times in a round, under numbers of the same parity."""
    slots = [(number, lock) for lock in _shuffled(subject, number, locks)]
    # Beside the others only: the machine may be another one at another time.
    if any(_is_missing(runs, subject, lock, number) for lock in locks if lock != BASELINE):
        for part in (1, 2):
            slots.insert(part * len(slots) // 3, (number + part * _AGAIN, BASELINE))
    return [slot for slot in slots if _is_missing(runs, subject, slot[1], slot[0])]


def _shuffled(subject: Subject, number: int, locks: Sequence[str]) -> list[str]:
    order = list(locks)
    random.Random(f"{subject.name} {subject.threads} {number}").shuffle(order)
    return order


def _is_missing(runs: Runs, subject: Subject, lock: str, number: int) -> bool:
    return runs.is_missing(subject.name, subject.threads, lock, number)


def _run(
    runner: Runner,
    installed: RealProgram,
    subject: Subject,
    number: int,
    lock: str,
    registry: Registry,
    limits: Limits,
) -> Run:
    done = runner.measure(UNSPECIFIED, lock, registry.path_of(lock))
    value = done.figures.get(VALUE)
    place = (subject.name, subject.threads, lock, number)
    if done.ended == record.TIMEOUT:
        return Run(*place, 0.0, limits.timeout, is_ended=True)
    if not value:
        return Run(*place, 0.0, done.wall, failure=done.note or done.ended)
    is_time = installed.lower_is_better or installed.metric is None
    return Run(*place, 1 / value if is_time else value, done.wall)
