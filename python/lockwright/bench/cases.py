"""What one run of the measuring program is: a workload under a lock, with its options."""

from collections.abc import Mapping
from dataclasses import dataclass

from lockwright.bench.catalogue import catalogue
from lockwright.bench.report import processors

PER_PROCESSOR = "/cpu"
"""Ends a number of threads that is one for each processor: `4/cpu`."""


@dataclass(frozen=True)
class Case:
    """A workload under a lock. options, environment: pairs of name and value, sorted by name.

    Two cases that are alike are one run.
    """

    workload: str
    lock: str
    options: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def label(self) -> str:
        """`single-lock, mcs-spin, threads 8`."""
        return ", ".join([self.workload, self.lock, *(f"{name} {v}" for name, v in self.options)])


def case(
    workload: str,
    lock: str,
    options: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> Case:
    """Makes a case; a number of threads such as `4/cpu` becomes one of this machine."""
    given = {name: resolved(value) for name, value in options.items()}
    return Case(
        workload, lock, tuple(sorted(given.items())), tuple(sorted((environment or {}).items()))
    )


def resolved(value: object) -> str:
    """The value of an option as the measuring program takes it."""
    text = str(value)
    if text.endswith(PER_PROCESSOR):
        factor = float(text.removesuffix(PER_PROCESSOR))
        return str(max(1, round(factor * processors())))
    return text


def timing(workload: str, seconds: float, warm_up: float) -> dict[str, object]:
    """How long a run of the workload measures, for those that can be told."""
    known = catalogue().workloads.get(workload)
    if known is None:
        return {}
    return {"seconds": seconds, "warm-up": warm_up} if known.uses_lock else {"seconds": seconds}
