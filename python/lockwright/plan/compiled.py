"""What the mixed library is told, in a variable that src/preload/mixed/plan.hpp describes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.counters import MOST_ENTRIES
from lockwright.errors import LockwrightError
from lockwright.plan.read import Entry, Plan

VARIABLE = "LOCKWRIGHT_PLAN"

BY_VARIABLE, BY_INITIALISER, BY_FIRST_USE, BY_LIBRARY, BY_ANY = 1, 2, 4, 8, 16
"""How a range applies to a mutex: `match` in src/preload/mixed/plan.hpp."""

BY_SITE = BY_INITIALISER | BY_FIRST_USE

END = (1 << 64) - 1
"""Beyond all addresses."""

_MOST = 120_000
"""Characters: what the kernel takes of one variable is 128 KiB."""


@dataclass(frozen=True)
class Range:
    """Addresses of a file, as the file itself counts them. names: that it may be loaded by."""

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
    def level(self) -> int:
        """What says more of a mutex comes first: its variable, its site, its library."""
        order = (BY_VARIABLE, BY_SITE, BY_LIBRARY, BY_ANY)
        return next(level for level, bits in enumerate(order) if self.by & bits)

    def meets(self, other: "Rule") -> bool:
        """Whether there may be a mutex that both claim, and neither has the better claim."""
        if self.level != other.level or self.ordinal != other.ordinal:
            return False
        if self.by == other.by == BY_ANY:
            return True
        return bool(self.by & other.by) and any(
            not set(one.names).isdisjoint(two.names) and one.begin < two.end and two.begin < one.end
            for one in self.ranges
            for two in other.ranges
        )


@dataclass(frozen=True)
class Compiled:
    """text: the variable's. entries: of the plan, as the counters count them, from 1 on."""

    plan: Plan
    text: str
    entries: tuple[Entry, ...]


def compiled(plan: Plan, rules: Sequence[Rule]) -> Compiled:
    """Raises LockwrightError if two entries are about one mutex, or if it is too long."""
    for at, rule in enumerate(rules):
        for other in rules[:at]:
            if rule.meets(other):
                raise LockwrightError(
                    f"{plan.path}: [[mutex]] {other.entry.number} ({other.entry.shown}) and "
                    f"{rule.entry.number} ({rule.entry.shown}) are about the same mutex",
                    "leave one of them out, or tell them apart by ordinal",
                )
    ordered = sorted(rules, key=lambda rule: (rule.level, rule.ordinal is None))
    modules: dict[str, int] = {}
    for rule in ordered:
        for one in rule.ranges:
            for name in one.names:
                modules.setdefault(name, len(modules))
    lines = [f"M {name}" for name in modules]
    lines.append(" ".join(["D", *plan.locks]))
    for rule in ordered:
        ordinal = "-" if rule.ordinal is None else f"{rule.ordinal:x}"
        lines.append(" ".join([f"E {rule.by:x} {ordinal}", *rule.entry.locks]))
        lines += [
            f"R {modules[name]:x} {one.begin:x} {one.end:x}"
            for one in rule.ranges
            for name in one.names
        ]
    text = "\n".join([*lines, ""])
    if len(text) > _MOST or len(rules) >= MOST_ENTRIES:
        raise LockwrightError(
            f"{plan.path} is too long: {len(rules)} entries for {len(text):,} bytes of addresses",
            "name fewer mutexes, or let one entry stand for many, as a library does",
        )
    return Compiled(plan, text, tuple(rule.entry for rule in ordered))


def compile_for(plan: Plan, program: Path) -> Compiled:
    """A plan for a program. Raises LockwrightError if an entry is about nothing there is."""
    from lockwright.plan.resolve import resolve

    return compiled(plan, resolve(plan, program))
