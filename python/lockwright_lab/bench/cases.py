"""The cases of the measuring program: a workload under a lock, with its options."""

from collections.abc import Mapping
from dataclasses import dataclass

from lockwright.experiment import FINISHED, TIMEOUT, Runs

from lockwright_lab.bench.catalogue import catalogue
from lockwright_lab.bench.runs import Value, processors

PER_PROCESSOR = "/cpu"
"""Suffix of a number of threads per processor: `4/cpu`."""


def labels_text(labels: Mapping[str, object]) -> str:
    """Return a text such as `threads 2, section-cycles 100`."""
    return ", ".join(f"{name} {value}" for name, value in labels.items())


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

    @property
    def cell(self) -> str:
        """The name of its cell in an experiment, such as `single-lock, threads 8`."""
        return ", ".join(filter(None, [self.workload, labels_text(dict(self.options))]))

    @property
    def contender(self) -> str:
        """The name of its contender in an experiment: the lock, and its variables."""
        return " ".join([self.lock, *(f"{name}={value}" for name, value in self.environment)])


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


@dataclass(frozen=True)
class Results:
    """The runs of cases. machine: the name of the simulated one that they are of, or empty."""

    runs: Runs
    machine: str = ""

    def over_rounds(self, of: Case, value: Value) -> dict[int, float]:
        """Return a figure by round, for the rounds that have it. A killed run counts with the
        figures that it has printed."""
        made = self.runs.of(cell_of(of, self.machine), of.contender, counted=True)
        return {
            run.round: figure
            for run in made
            if run.ended in (FINISHED, TIMEOUT) and (figure := value(run)) is not None
        }


METERS = ("latency", "admissions")
"""Options that switch meters on; the simulator always has these figures."""


def cell_of(of: Case, machine: str) -> str:
    """Return the name of the cell of a case on this machine, or on a simulated one, where cases
    that differ only in their meters are one simulation."""
    if not machine:
        return of.cell
    options = {name: value for name, value in of.options if name not in METERS}
    return f"{machine}, {of.workload}, {labels_text(options)}"
