"""The rules of a plan: entries with the ranges of addresses that they apply to."""

from dataclasses import dataclass

from lockwright.plan.read import Entry

BY_VARIABLE, BY_INITIALISER, BY_FIRST_USE, BY_LIBRARY, BY_ANY = 1, 2, 4, 8, 16
"""The kinds of matches of a range with a mutex: `match` in src/preload/mixed/plan.hpp."""

BY_SITE = BY_INITIALISER | BY_FIRST_USE

END = (1 << 64) - 1
"""An end of a range beyond all addresses."""


@dataclass(frozen=True)
class Range:
    """A range of addresses in a file, relative to it. names: the file names when it is loaded."""

    names: tuple[str, ...]
    begin: int
    end: int

    def common(self, other: "Range") -> "Range | None":
        """Return the part that is in both; None if there is none."""
        begin, end = max(self.begin, other.begin), min(self.end, other.end)
        return Range(self.names, begin, end) if self.names == other.names and begin < end else None


@dataclass(frozen=True)
class Rule:
    """A resolved entry. by: a bit set of BY_...; ranges: of the code or data that it names."""

    entry: Entry
    by: int
    ranges: tuple[Range, ...]
    ordinal: int | None

    @property
    def precedence(self) -> int:
        """The rank of the rule, 0 first, in the order variable, site, library, any."""
        order = (BY_VARIABLE, BY_SITE, BY_LIBRARY, BY_ANY)
        return next(level for level, bits in enumerate(order) if self.by & bits)

    def overlaps(self, other: "Rule") -> bool:
        """Return whether both rules may match the same lock and neither is more specific."""
        if self.entry.table != other.entry.table or self.precedence != other.precedence:
            return False
        if self.ordinal != other.ordinal:
            return False
        if self.by == other.by == BY_ANY:
            return True
        return bool(self.by & other.by) and any(
            not set(first.names).isdisjoint(second.names)
            and first.begin < second.end
            and second.begin < first.end
            for first in self.ranges
            for second in other.ranges
        )
