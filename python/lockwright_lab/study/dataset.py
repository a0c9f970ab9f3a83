"""A data set in memory: validated runs, and selections of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from lockwright_lab.study.schema import HIGHER, METRICS

COUNT = "count"
"""The column of thread counts or of NUMA nodes, whichever the data have; 0 where they have none."""

UNFINISHED = ("machine", "application", COUNT, "lock", "outcome")


def _none_unfinished() -> pd.DataFrame:
    return pd.DataFrame(columns=list(UNFINISHED), dtype=object)


@dataclass(frozen=True)
class Source:
    """The runs of one file. name: of the plan, or else of the file.

    frame: a row per run, with the columns machine, application, count, lock, variant ('' where
    there is none) and one per metric, in the metric's unit. counted: the unit of `count`, 'nodes',
    'threads' or ''. adds_metrics: whether the file only adds metrics to another one's machine.
    unfinished: a row per run without a figure, with the columns UNFINISHED.
    """

    name: str
    frame: pd.DataFrame
    metrics: tuple[str, ...]
    counted: str
    adds_metrics: bool = False
    unfinished: pd.DataFrame = field(default_factory=_none_unfinished)


@dataclass(frozen=True)
class Sample:
    """All runs of one machine in one metric.

    frame: columns application, count, lock and value; higher values are always better, because a
    metric that should be low is replaced by its reciprocal, as the papers do with times
    (multicore-locks/litl); `inverted` is set then. Several rows of one configuration are its
    repetitions. unfinished: runs of the machine without a figure, with the columns UNFINISHED.
    """

    machine: str
    metric: str
    counted: str
    frame: pd.DataFrame
    inverted: bool = False
    unfinished: pd.DataFrame = field(default_factory=_none_unfinished)

    @property
    def quantity(self) -> str:
        """The quantity of `value`, in words."""
        if self.inverted:
            return f"1 / {self.metric}"
        known = METRICS.get(self.metric)
        return f"{self.metric} ({known.unit})" if known else self.metric

    @property
    def title(self) -> str:
        return f"{self.machine}, {self.metric}"


@dataclass(frozen=True)
class DataSet:
    """The runs of all files. better: the direction of metrics that are not known by name; notes:
    remarks about the data."""

    sources: tuple[Source, ...]
    better: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def machines(self) -> list[str]:
        """All machines with runs other than validations, sorted."""
        return sorted(
            {m for source in self.sources for m in _without_variant(source.frame).machine}
        )

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(m for source in self.sources for m in source.metrics))

    def direction(self, metric: str) -> str:
        """Return HIGHER or LOWER, the direction in which a metric is better."""
        known = METRICS.get(metric)
        return known.better if known else self.better.get(metric, HIGHER)

    def sample(self, machine: str, metric: str) -> Sample | None:
        """Return the runs of a machine in a metric, or None. A machine's own files come first."""
        for adds_metrics in (False, True):
            rows = self._rows(machine, (metric,), adds_metrics)
            if rows is not None:
                frame, counted = rows
                inverted = self.direction(metric) != HIGHER
                value = 1 / frame[metric] if inverted else frame[metric]
                columns = frame[["application", COUNT, "lock"]].assign(value=value)
                columns = columns.reset_index(drop=True)
                unfinished = self._unfinished(machine)
                return Sample(machine, metric, counted, columns, inverted, unfinished)
        return None

    def paired(self, machine: str, first: str, second: str) -> pd.DataFrame | None:
        """Return the runs that have both metrics, in their own units; None if there are none."""
        for adds_metrics in (True, False):
            rows = self._rows(machine, (first, second), adds_metrics)
            if rows is not None:
                return rows[0][["application", COUNT, "lock", first, second]]
        return None

    def validations(self) -> list[pd.DataFrame]:
        """Return the runs of the same locks in two variants: one frame per file and machine."""
        frames = []
        for source in self.sources:
            frame = source.frame[source.frame.variant != ""]
            frames += [part for _, part in frame.groupby("machine") if part.variant.nunique() == 2]
        return frames

    def _unfinished(self, machine: str) -> pd.DataFrame:
        parts = [source.unfinished[source.unfinished.machine == machine] for source in self.sources]
        return pd.concat(parts, ignore_index=True)

    def _rows(
        self, machine: str, metrics: Sequence[str], adds_metrics: bool
    ) -> tuple[pd.DataFrame, str] | None:
        parts, counted = [], ""
        for source in self.sources:
            if source.adds_metrics == adds_metrics and set(metrics) <= set(source.metrics):
                frame = _without_variant(source.frame)
                frame = frame[(frame.machine == machine) & frame[list(metrics)].notna().all(axis=1)]
                if not frame.empty:
                    parts.append(frame)
                    counted = source.counted
        return (pd.concat(parts), counted) if parts else None


def _without_variant(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame.variant == ""]
