"""The findings as a table with a summary."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from lockwright.base.terminal import print_wrapped
from lockwright.machine.finding import ABSENT, OK, WARN, Finding

_STYLES = {OK: "green", WARN: "yellow", ABSENT: "cyan"}


def print_findings(console: Console, findings: Sequence[Finding], every: bool) -> None:
    """Print a line for each finding, with the effect and the advice for those that are not ok, or
    for `every` one."""
    width = max(len(finding.name) for finding in findings)
    before = ""
    for finding in findings:
        line = Text(f"{finding.level:<6}  ", style=_STYLES[finding.level])
        line.append(f"{finding.name:<{width}}  ", style="bold")
        line.append(finding.found, style="default")
        console.print(line, soft_wrap=True)
        if every or finding.level != OK:
            print_wrapped(console, " " * 8, finding.effect, "default")
            if finding.advice:
                advice = "as above" if finding.advice == before else finding.advice
                print_wrapped(console, f"{' ' * 8}-> ", advice, "default")
            before = finding.advice
    console.print()
    print_wrapped(console, "", summary(findings), "bold")


def summary(findings: Sequence[Finding]) -> str:
    """Return the number of findings of each level, and the conclusion."""
    levels = Counter(finding.level for finding in findings)
    counts = ", ".join(f"{levels[level]} {level}" for level in (OK, WARN, ABSENT))
    if levels[WARN]:
        return (
            f"{counts}. Findings marked warn disturb a measurement of locks on this machine, or "
            "prevent it."
        )
    return f"{counts}. Nothing was found that disturbs a measurement of locks on this machine."
