"""Published throughputs and simulated libraries, as tables."""

from pathlib import Path

import pandas as pd
from lockwright_lab.study import reading
from lockwright_lab.study.dataset import COUNT, Sample

from lockwright.base.errors import LockwrightError


def read_sample(path: Path) -> Sample:
    """Return the runs of a file. Raises LockwrightError if it has several machines, or no
    throughput by numbers of nodes."""
    data = reading.read([path])
    if len(data.machines) != 1:
        raise LockwrightError(
            f"{path} has {len(data.machines)} machines", "give a file with the runs of one"
        )
    sample = data.sample(data.machines[0], "throughput")
    if sample is None:
        raise LockwrightError(f"{path} has no throughput", "give a file with that column")
    if sample.counted != "nodes":
        raise LockwrightError(
            f"{path} has no numbers of NUMA nodes", "give a file with a column of nodes"
        )
    return sample


def means(sample: Sample) -> dict[str, pd.DataFrame]:
    """Return the mean throughputs of each application: a row for each number of nodes, a column for
    each lock, NaN where a lock was not run."""
    by_application = {}
    for name, part in sample.frame.groupby("application"):
        table = part.pivot_table(index=COUNT, columns="lock", values="value", aggfunc="mean")
        by_application[str(name)] = table
    return by_application


def read_published(path: Path) -> dict[str, pd.DataFrame]:
    """Return the mean throughputs of a file; see means and read_sample."""
    return means(read_sample(path))


def read_library(path: Path) -> pd.DataFrame:
    """Return the lines of a predicted study, also those without a section. Raises LockwrightError
    if it is none."""
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise LockwrightError(f"cannot read {path}: {error}", "check the path") from error
    wanted = ("application", "lock", "nodes", "threads", "sections_per_second")
    if not set(wanted) <= set(frame.columns):
        raise LockwrightError(
            f"{path} is not a predicted study", "name a file of 'lockwright study predict'"
        )
    return frame[frame.outcome != "failed"]
