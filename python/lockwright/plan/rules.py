"""What an entry of a plan applies to in a program: ranges of addresses in files."""

from dataclasses import dataclass

from lockwright.plan.read import Entry

BY_VARIABLE, BY_INITIALISER, BY_FIRST_USE, BY_LIBRARY, BY_ANY = 1, 2, 4, 8, 16
"""How a range applies to a mutex: `match` in src/preload/mixed/plan.hpp."""

BY_SITE = BY_INITIALISER | BY_FIRST_USE

END = (1 << 64) - 1
"""Beyond all addresses."""


@dataclass(frozen=True)
class Range:
    """Addresses of a file, relative to the file. names: under which it may be loaded."""

    names: tuple[str, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Rule:
    """An entry, resolved."""

    entry: Entry
    by: int
    ranges: tuple[Range, ...]
    ordinal: int | None

    @property
    def precedence(self) -> int:
        """The more specific entry wins: variable, then site, then library."""
        order = (BY_VARIABLE, BY_SITE, BY_LIBRARY, BY_ANY)
        return next(level for level, bits in enumerate(order) if self.by & bits)

    def overlaps(self, other: "Rule") -> bool:
        """Whether both may claim the same mutex and neither is more specific."""
        if self.precedence != other.precedence or self.ordinal != other.ordinal:
            return False
        if self.by == other.by == BY_ANY:
            return True
        return bool(self.by & other.by) and any(
            not set(one.names).isdisjoint(two.names) and one.begin < two.end and two.begin < one.end
            for one in self.ranges
            for two in other.ranges
        )
