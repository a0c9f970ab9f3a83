"""Prints the findings."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from lockwright.base.terminal import print_wrapped
from lockwright.machine.finding import ABSENT, OK, WARN, Finding

_STYLES = {OK: "green", WARN: "yellow", ABSENT: "cyan"}


def print_findings(console: Console, findings: Sequence[Finding], every: bool) -> None:
    """Prints a line for each; below those that are not ok, or below all, the effect and the
    advice."""
    wide = max(len(each.name) for each in findings)
    for each in findings:
        line = Text(f"{each.level:<6}  ", style=_STYLES[each.level])
        line.append(f"{each.name:<{wide}}  ", style="bold")
        line.append(each.found, style="default")
        console.print(line, soft_wrap=True)
        if every or each.level != OK:
            print_wrapped(console, " " * 8, each.effect, "default")
            if each.advice:
                print_wrapped(console, f"{' ' * 8}-> ", each.advice, "default")
    console.print()
    print_wrapped(console, "", summary(findings), "bold")


def summary(findings: Sequence[Finding]) -> str:
    """How many of each level, and what that means."""
    levels = Counter(each.level for each in findings)
    counts = ", ".join(f"{levels[level]} {level}" for level in (OK, WARN, ABSENT))
    if levels[WARN]:
        return (
            f"{counts}. What is marked warn disturbs a measurement of locks on this machine, or "
            "keeps one from being made."
        )
    return f"{counts}. Nothing was found that disturbs a measurement of locks on this machine."
