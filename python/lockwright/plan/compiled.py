"""The compiler of plans: from rules to the variable that src/preload/mixed/plan.hpp describes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.plan.read import Entry, Plan
from lockwright.plan.resolve import resolve
from lockwright.plan.rules import Rule
from lockwright.preload.counters import max_entries

VARIABLE = "LOCKWRIGHT_PLAN"

_MOST = 120_000
"""Characters of the variable: the kernel's limit is 128 KiB."""


@dataclass(frozen=True)
class Compiled:
    """A compiled plan. text: of the variable; entries: in the order of the text, counted from 1."""

    plan: Plan
    text: str
    entries: tuple[Entry, ...]


def compiled(plan: Plan, rules: Sequence[Rule]) -> Compiled:
    """Return the compiled plan. Raises LockwrightError if two entries apply to the same mutex, or
    if the text is too long."""
    for index, rule in enumerate(rules):
        for other in rules[:index]:
            if rule.overlaps(other):
                raise LockwrightError(
                    f"{plan.path}: [[mutex]] {other.entry.number} ({other.entry.description}) and "
                    f"{rule.entry.number} ({rule.entry.description}) are about the same mutex",
                    "leave one of them out, or tell them apart by ordinal",
                )
    ordered = sorted(rules, key=lambda rule: (rule.precedence, rule.ordinal is None))
    modules: dict[str, int] = {}
    for rule in ordered:
        for addresses in rule.ranges:
            for name in addresses.names:
                modules.setdefault(name, len(modules))
    lines = [f"M {name}" for name in modules]
    lines.append(" ".join(["D", *plan.locks]))
    for rule in ordered:
        ordinal = "-" if rule.ordinal is None else f"{rule.ordinal:x}"
        lines.append(" ".join([f"E {rule.by:x} {ordinal}", *rule.entry.locks]))
        lines += [
            f"R {modules[name]:x} {addresses.begin:x} {addresses.end:x}"
            for addresses in rule.ranges
            for name in addresses.names
        ]
    text = "\n".join([*lines, ""])
    if len(text) > _MOST or len(rules) >= max_entries():
        raise LockwrightError(
            f"{plan.path} is too long: {len(rules)} entries for {len(text):,} bytes of addresses",
            "name fewer mutexes, or let one entry stand for many, as a library does",
        )
    return Compiled(plan, text, tuple(rule.entry for rule in ordered))


def compile_for(plan: Plan, program: Path) -> Compiled:
    """Return a plan compiled for a program. Raises LockwrightError if an entry matches nothing."""
    return compiled(plan, resolve(plan, program))
