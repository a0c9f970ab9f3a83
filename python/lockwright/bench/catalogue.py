"""The workloads that the measuring program describes, and what they say about themselves."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from lockwright.base import tool
from lockwright.base.errors import LockwrightError
from lockwright.run.bench_program import program


@dataclass(frozen=True)
class Parameter:
    """A number that a workload takes, or one of a few words.

    unit: empty for a plain number. least: the smallest value. words: the values, if they are words.
    """

    name: str
    initial: float
    least: float
    unit: str
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """The initial value as one writes it."""
        return self.words[int(self.initial)] if self.words else f"{self.initial:g}"


@dataclass(frozen=True)
class Preset:
    """Values that belong together, as in the paper."""

    name: str
    values: dict[str, str]
    meaning: str


@dataclass(frozen=True)
class Figure:
    """A number of a run, beside those of every workload."""

    field: str
    heading: str
    meaning: str
    lower_is_better: bool


RATE = Figure("operations_per_second", "op/s", "", lower_is_better=False)
"""What locks are compared by."""


@dataclass(frozen=True)
class Workload:
    """What a workload measures, where it comes from and what it takes.

    operation: what is counted, in the plural. one_mutex: whether the order of admissions can be
    told. uses_lock: whether anything in it depends on the lock.
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
        """What locks are compared by; without a lock, what it is about."""
        return RATE if self.uses_lock else self.figures[0]


@dataclass(frozen=True)
class Catalogue:
    """All workloads by name, and the parameters that each of them has."""

    workloads: dict[str, Workload]
    common: dict[str, Parameter]


@cache
def catalogue() -> Catalogue:
    """What the installed measuring program has. Raises LockwrightError if there is none."""
    described = tool.call([program(), "describe"])
    if described.status != 0:
        raise LockwrightError(
            "the measuring program does not say what it has", "build or install Lockwright again"
        )
    return parse(described.output.splitlines())


def parse(lines: Iterable[str]) -> Catalogue:
    """Makes a catalogue of the lines that `lockwright-bench describe` prints."""
    workloads: dict[str, Workload] = {}
    common: dict[str, Parameter] = {}
    for line in map(json.loads, lines):
        kind, owner = line.pop("kind"), line.pop("workload")
        match kind:
            case "workload":
                for name in ("one_mutex", "uses_lock"):
                    line[name] = bool(line[name])
                workloads[owner] = Workload(name=owner, **line)
            case "parameter":
                words = tuple(line.pop("words", "").split(",")) if "words" in line else ()
                parameter = Parameter(**line, words=words)
                if owner:
                    workloads[owner].parameters.append(parameter)
                else:
                    common[parameter.name] = parameter
            case "preset":
                values = dict(pair.split("=") for pair in line.pop("values").split())
                workloads[owner].presets.append(Preset(**line, values=values))
            case "figure":
                line["lower_is_better"] = bool(line["lower_is_better"])
                workloads[owner].figures.append(Figure(**line))
    return Catalogue(workloads, common)
