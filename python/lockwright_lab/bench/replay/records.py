"""Recorded runs, by program and lock, and the values of locks in the programs of a machine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from lockwright.base.errors import LockwrightError
from lockwright.tune.knowledge import Array
from lockwright.tune.priors import Values

from lockwright_lab.study import reading
from lockwright_lab.study.dataset import COUNT, Sample
from lockwright_lab.study.effect import SENSITIVE, relative_deviation
from lockwright_lab.study.lock_names import project_name


@dataclass(frozen=True)
class Recorded:
    """The runs of one program on all of a machine: the logarithms of each lock's figures, of which
    higher ones are better."""

    program: str
    locks: tuple[str, ...]
    runs: tuple[Array, ...]

    @property
    def truth(self) -> Array:
        """The mean figure of each lock."""
        return np.array([np.exp(runs).mean() for runs in self.runs])


def family(program: str) -> str:
    """Return the first word of a program's name, which its versions share."""
    return re.split(r"[-_ .]", program)[0].lower()


def sample_of(path: Path) -> Sample:
    """Return the runs in a file, in its first metric. Raises LockwrightError if there are none, or
    of more than one machine."""
    data = reading.read([path])
    if len(data.machines) != 1:
        machines = ", ".join(data.machines) or "none"
        raise LockwrightError(f"{path} has runs of {machines}", "give a file of one machine")
    sample = data.sample(data.machines[0], data.metrics[0]) if data.metrics else None
    if sample is None:
        raise LockwrightError(f"{path} has no figures", "give runs with a column of figures")
    return sample


def sensitive_programs(sample: Sample) -> list[Recorded]:
    """Return the lock-sensitive programs at the largest count: those in which the relative standard
    deviation of the locks' means is above SENSITIVE."""
    frame = sample.frame[sample.frame[COUNT] == sample.frame[COUNT].max()]
    found = []
    for program, rows in frame.groupby("application"):
        locks = sorted(set(rows.lock))
        runs = tuple(np.log(rows.value[rows.lock == lock].to_numpy(float)) for lock in locks)
        recorded = Recorded(str(program), tuple(project_name(lock) for lock in locks), runs)
        means = pd.DataFrame([recorded.truth])
        if len(locks) > 2 and float(relative_deviation(means).iloc[0]) > SENSITIVE:
            found.append(recorded)
    return found


def values_of(sample: Sample) -> list[Values]:
    """Return the values of locks in the lock-sensitive programs of a machine. A program counts at
    each count from half of the largest one: more examples of how locks behave together."""
    counts = sorted(set(sample.frame[COUNT]))
    found = []
    for count in (each for each in counts if each >= max(counts) / 2):
        of_count = Sample(
            sample.machine,
            sample.metric,
            sample.counted,
            sample.frame[sample.frame[COUNT] == count],
            sample.inverted,
            sample.unfinished,
        )
        for recorded in sensitive_programs(of_count):
            logs = np.log(recorded.truth)
            values = dict(zip(recorded.locks, (logs - logs.max()).tolist(), strict=True))
            found.append(Values(sample.machine, recorded.program, int(count), values))
    return found


def read_values(paths: Sequence[Path]) -> list[Values]:
    """Return the values in files of recorded runs."""
    return [values for path in paths for values in values_of(sample_of(path))]
