"""The workloads of the measuring program, from the description that it prints."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from lockwright.base import tool
from lockwright.base.errors import LockwrightError
from lockwright.run.bench_program import program


@dataclass(frozen=True)
class Parameter:
    """An option of a workload. unit: "" for a plain number. words: the values if they are words."""

    name: str
    initial: float
    least: float
    unit: str
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """The text of the initial value."""
        return self.words[int(self.initial)] if self.words else f"{self.initial:g}"


@dataclass(frozen=True)
class Preset:
    """A named set of option values, as in the paper."""

    name: str
    values: dict[str, str]
    meaning: str


@dataclass(frozen=True)
class Figure:
    """A number of a run that only some workloads have."""

    field: str
    heading: str
    meaning: str
    lower_is_better: bool


RATE = Figure("operations_per_second", "op/s", "", lower_is_better=False)
"""The figure by which locks are compared."""


@dataclass(frozen=True)
class Workload:
    """A workload: its measure, source and options.

    operation: the name of its operations, in the plural. one_mutex: True if it has a single mutex,
    so that the order of admissions is measurable. uses_lock: True if it depends on the lock.
    """

    name: str
    measures: str
    source: str
    operation: str
    threads: int
    one_mutex: bool
    uses_lock: bool
    parameters: list[Parameter] = field(default_factory=list)
    presets: list[Preset] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    @property
    def main(self) -> Figure:
        """The figure by which locks are compared; without a lock, the first figure."""
        return RATE if self.uses_lock else self.figures[0]


@dataclass(frozen=True)
class Catalogue:
    """All workloads by name, and the parameters that all of them have."""

    workloads: dict[str, Workload]
    common: dict[str, Parameter]


@cache
def catalogue() -> Catalogue:
    """Return the catalogue of the installed program. Raises LockwrightError if there is none."""
    described = tool.call([program(), "describe"])
    if described.status != 0:
        raise LockwrightError(
            "the measuring program printed no description of its workloads",
            "build or install Lockwright again",
        )
    return parse(described.output.splitlines())


def parse(lines: Iterable[str]) -> Catalogue:
    """Return the catalogue from the output lines of `lockwright-bench describe`."""
    workloads: dict[str, Workload] = {}
    common: dict[str, Parameter] = {}
    for line in map(json.loads, lines):
        kind, workload = line.pop("kind"), line.pop("workload")
        match kind:
            case "workload":
                for name in ("one_mutex", "uses_lock"):
                    line[name] = bool(line[name])
                workloads[workload] = Workload(name=workload, **line)
            case "parameter":
                words = tuple(line.pop("words", "").split(",")) if "words" in line else ()
                parameter = Parameter(**line, words=words)
                if workload:
                    workloads[workload].parameters.append(parameter)
                else:
                    common[parameter.name] = parameter
            case "preset":
                values = dict(pair.split("=") for pair in line.pop("values").split())
                workloads[workload].presets.append(Preset(**line, values=values))
            case "figure":
                line["lower_is_better"] = bool(line["lower_is_better"])
                workloads[workload].figures.append(Figure(**line))
    return Catalogue(workloads, common)
