"""Claims: two sides that are run side by side, and the bounds of their quotient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lockwright.bench.cases import Case, case
from lockwright.bench.statistic import STATISTICS, Statistic

Options = Mapping[str, object]


class Of(StrEnum):
    """The figure that represents several locks."""

    BEST = "the best of"
    MEAN = "the mean of"


@dataclass(frozen=True)
class Side:
    """One of the two sides of a comparison: a lock, or several with one figure.

    options: of its runs, in addition to those of the claim. environment: variables of its runs.
    """

    locks: tuple[str, ...]
    of: Of = Of.BEST
    options: Options = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The label, the lock, or the figure with its locks."""
        if self.label:
            return self.label
        return self.locks[0] if len(self.locks) == 1 else f"{self.of} {', '.join(self.locks)}"


def lock(name: str, **options: object) -> Side:
    """Return a side of one lock; underscores in the names of options stand for hyphens."""
    return Side((name,), options={k.replace("_", "-"): v for k, v in options.items()})


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    says: the claim, a sentence. source: paper and section. published: the paper's figures, with
    their numbers of threads and processors. ratio: the paper's own value of the quotient, where it
    prints one.

    workload, points, own, other, statistic: the runs: both sides at each point, which is a set of
    options; the figure is the quotient of their statistics, over several points the geometric
    mean. Without `other` it is the statistic itself.

    least, most: the claim holds if the figure lies between them. They are 1 where the paper only
    claims better or worse, and a margin where it states one: how much better depends on the number
    of processors.

    processors: the number that is required. elsewhere: why no workload can show the claim, or "".
    """

    name: str
    says: str
    source: str
    published: str
    workload: str = ""
    own: Side | None = None
    other: Side | None = None
    statistic: str = "rate"
    points: tuple[Options, ...] = ({},)
    ratio: float | None = None
    least: float | None = None
    most: float | None = None
    processors: int = 1
    elsewhere: str = ""

    @property
    def what(self) -> Statistic:
        """The figure that is compared."""
        return STATISTICS[self.statistic]

    @property
    def sides(self) -> list[Side]:
        """The sides that are run."""
        return [side for side in (self.own, self.other) if side is not None]

    def cases_of(self, side: Side, point: Options) -> list[Case]:
        """Return the cases of one side at one point, one for each of its locks."""
        meter = {self.what.option: 1} if self.what.option else {}
        options = {**point, **side.options, **meter}
        return [case(self.workload, name, options, side.environment) for name in side.locks]

    def cases(self) -> list[Case]:
        """Return all cases of the claim."""
        return [
            one
            for side in self.sides
            for point in self.points
            for one in self.cases_of(side, point)
        ]


def all_cases(claims: Sequence[Claim]) -> list[Case]:
    """Return the cases of all claims, each once."""
    return list(dict.fromkeys(one for claim in claims for one in claim.cases()))
