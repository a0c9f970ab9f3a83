"""Claims: the quotient of two sides that are run side by side, and its bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lockwright_lab.bench.cases import Case, case
from lockwright_lab.bench.statistic import STATISTICS, Statistic

Options = Mapping[str, object]


class Aggregate(StrEnum):
    """The figure that represents several locks."""

    BEST = "the best of"
    MEAN = "the mean of"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a lock, or several locks with one figure.

    options, environment: those of its runs, in addition to the options of the claim.
    """

    locks: tuple[str, ...]
    aggregate: Aggregate = Aggregate.BEST
    options: Options = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The label, the lock, or the figure with its locks."""
        if self.label:
            return self.label
        several = f"{self.aggregate} {', '.join(self.locks)}"
        return self.locks[0] if len(self.locks) == 1 else several


def lock(name: str, **options: object) -> Side:
    """Return a side of one lock; underscores in the names of options stand for hyphens."""
    return Side((name,), options={k.replace("_", "-"): v for k, v in options.items()})


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    text: the claim as a sentence. source: paper and section. published: the paper's figures, with
    their numbers of threads and processors. ratio: the paper's own value of the quotient, if it
    prints one.

    points: sets of options; both sides are run at each. The figure is the quotient of their
    statistics, over several points the geometric mean, and without a denominator the statistic of
    the numerator. of_averages: over several points it is the quotient of the averages of both
    sides instead.

    least, most: the claim holds if the figure lies between them. They are 1 if the paper only
    claims better or worse, and a margin if it states one: how much better depends on the number of
    processors.

    processors: the number that is required. elsewhere: why no workload can show the claim, or "".
    """

    name: str
    text: str
    source: str
    published: str
    workload: str = ""
    numerator: Side | None = None
    denominator: Side | None = None
    statistic: str = "rate"
    points: tuple[Options, ...] = ({},)
    of_averages: bool = False
    ratio: float | None = None
    least: float | None = None
    most: float | None = None
    processors: int = 1
    elsewhere: str = ""

    @property
    def figure(self) -> Statistic:
        """The statistic that is compared."""
        return STATISTICS[self.statistic]

    @property
    def sides(self) -> list[Side]:
        """The sides that are run."""
        return [side for side in (self.numerator, self.denominator) if side is not None]

    def cases_of(self, side: Side, point: Options) -> list[Case]:
        """Return the cases of one side at one point, one for each of its locks."""
        meter = {self.figure.option: 1} if self.figure.option else {}
        options = {**point, **side.options, **meter}
        return [case(self.workload, name, options, side.environment) for name in side.locks]

    def cases(self) -> list[Case]:
        """Return all cases of the claim."""
        pairs = [(side, point) for side in self.sides for point in self.points]
        return [run_case for pair in pairs for run_case in self.cases_of(*pair)]


def all_cases(claims: Sequence[Claim]) -> list[Case]:
    """Return the cases of all claims, each once."""
    return list(dict.fromkeys(run_case for claim in claims for run_case in claim.cases()))
