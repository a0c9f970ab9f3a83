"""The cases of the measuring program: a workload under a lock, with its options."""

from collections.abc import Mapping
from dataclasses import dataclass

from lockwright.calibrate.report import labels_text, processors

from lockwright_lab.bench.catalogue import catalogue

PER_PROCESSOR = "/cpu"
"""Suffix of a number of threads per processor: `4/cpu`."""


@dataclass(frozen=True)
class Case:
    """A workload under a lock. options, environment: pairs of name and value, sorted by name."""

    workload: str
    lock: str
    options: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def label(self) -> str:
        """Return a label such as `single-lock, mcs-spin, threads 8`."""
        return ", ".join(filter(None, [self.workload, self.lock, labels_text(dict(self.options))]))


def case(
    workload: str,
    lock: str,
    options: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> Case:
    """Return a case; a number of threads such as `4/cpu` is resolved for this machine."""
    pairs = ((name, resolved(value)) for name, value in options.items())
    variables = sorted((environment or {}).items())
    return Case(workload, lock, tuple(sorted(pairs)), tuple(variables))


def resolved(value: object) -> str:
    """Return the value of an option in the form for the measuring program."""
    text = str(value)
    if text.endswith(PER_PROCESSOR):
        factor = float(text.removesuffix(PER_PROCESSOR))
        return str(max(1, round(factor * processors())))
    return text


def timing(workload: str, seconds: float, warm_up: float) -> dict[str, object]:
    """Return the options of the measured time, for workloads that have them."""
    known = catalogue().workloads.get(workload)
    if known is None:
        return {}
    return {"seconds": seconds, "warm-up": warm_up} if known.uses_lock else {"seconds": seconds}
