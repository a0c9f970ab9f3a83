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
    """A compiled plan. text: of the variable; entries: those of the text by their index there; None
    for the default entry of mutexes, the first, and of reader-writer locks."""

    plan: Plan
    text: str
    entries: tuple[Entry | None, ...]


def compiled(plan: Plan, rules: Sequence[Rule]) -> Compiled:
    """Return the compiled plan. Raises LockwrightError if two entries apply to the same mutex or
    reader-writer lock, or if the text is too long."""
    for index, rule in enumerate(rules):
        for other in rules[:index]:
            if rule.overlaps(other):
                raise LockwrightError(
                    f"{plan.path}: {other.entry.title} ({other.entry.description}) and "
                    f"{rule.entry.number} ({rule.entry.description}) are about the same"
                    f" {rule.entry.subject}",
                    "leave one of them out, or tell them apart by ordinal",
                )
    ordered = sorted(
        rules, key=lambda rule: (rule.entry.table, rule.precedence, rule.ordinal is None)
    )
    entries: list[Entry | None] = [None]
    modules: dict[str, int] = {}
    for rule in ordered:
        for addresses in rule.ranges:
            for name in addresses.names:
                modules.setdefault(name, len(modules))
    lines = [f"M {name}" for name in modules]
    lines.append(" ".join(["D", *plan.locks]))
    for rule in ordered:
        is_for_rwlocks = rule.entry.table == "rwlock"
        if is_for_rwlocks and "d" not in lines:
            lines.append("d")
            entries.append(None)
        entries.append(rule.entry)
        ordinal = "-" if rule.ordinal is None else f"{rule.ordinal:x}"
        record = "e" if is_for_rwlocks else "E"
        lines.append(" ".join([f"{record} {rule.by:x} {ordinal}", *rule.entry.locks]))
        lines += [
            f"R {modules[name]:x} {addresses.begin:x} {addresses.end:x}"
            for addresses in rule.ranges
            for name in addresses.names
        ]
    text = "\n".join([*lines, ""])
    if len(text) > _MOST or len(entries) > max_entries():
        raise LockwrightError(
            f"{plan.path} is too long: {len(rules)} entries for {len(text):,} bytes of addresses",
            "name fewer mutexes, or let one entry stand for many, as a library does",
        )
    return Compiled(plan, text, tuple(entries))


def compile_for(plan: Plan, program: Path) -> Compiled:
    """Return a plan compiled for a program. Raises LockwrightError if an entry matches nothing."""
    return compiled(plan, resolve(plan, program))
