"""What a claim is: two things that are run side by side, and what their quotient has to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lockwright.bench.cases import Case, case
from lockwright.bench.statistic import STATISTICS, Statistic

Options = Mapping[str, object]


class Of(StrEnum):
    """Which figure of several locks stands for them."""

    BEST = "the best of"
    MEAN = "the mean of"


@dataclass(frozen=True)
class Side:
    """One of the two things that are compared: a lock, or several of which one figure is made.

    options: what its runs have beside those of the claim. environment: variables of its runs.
    """

    locks: tuple[str, ...]
    of: Of = Of.BEST
    options: Options = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """As one calls it: the lock, or what is made of which."""
        if self.label:
            return self.label
        return self.locks[0] if len(self.locks) == 1 else f"{self.of} {', '.join(self.locks)}"


def lock(name: str, **options: object) -> Side:
    """A side that is one lock; underscores in the names of options stand for hyphens."""
    return Side((name,), options={k.replace("_", "-"): v for k, v in options.items()})


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    says: the claim, a sentence. source: paper and place. published: the paper's figures, with how
    many threads on how many processors they were taken. ratio: the paper's own value of what is
    measured here, where it prints one.

    workload, points, own, other, statistic: what is run: at each point, which is a set of options,
    both sides; the figure is the quotient of their statistics, over several points the geometric
    mean. Without `other` it is the statistic itself.

    least, most: the claim holds if the figure lies between them. They are 1 where the paper says
    that something is better or worse, and a margin where it states one: how much better depends
    on the number of processors.

    processors: how many it takes to show it. elsewhere: why it cannot be shown by running a
    workload at all, "" where it can.
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
        """Those that are run."""
        return [side for side in (self.own, self.other) if side is not None]

    def cases_of(self, side: Side, point: Options) -> list[Case]:
        """What is run for one side at one point: a case for each of its locks."""
        meter = {self.what.option: 1} if self.what.option else {}
        options = {**point, **side.options, **meter}
        return [case(self.workload, name, options, side.environment) for name in side.locks]

    def cases(self) -> list[Case]:
        """Everything that is run for it."""
        return [
            one
            for side in self.sides
            for point in self.points
            for one in self.cases_of(side, point)
        ]


def all_cases(claims: Sequence[Claim]) -> list[Case]:
    """What all of them need, each case once."""
    return list(dict.fromkeys(one for claim in claims for one in claim.cases()))
