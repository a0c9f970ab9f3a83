"""Claims and what came of them, on the screen and as CSV."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.bench.claims.claim import Claim
from lockwright.bench.claims.evaluate import Finding, Verdict
from lockwright.bench.report import Column, table

COLUMNS = [
    Column("claim", "its name, for --claims."),
    Column("published", "the paper's own ratio, where it prints one."),
    Column(
        "here",
        "the figure on this machine: the quotient of the two things named, by the statistic named, "
        "taken within each round; over several settings their geometric mean; the median over the "
        "rounds.",
    ),
    Column(
        "95 % CI",
        "the range that the true median is in with 95 % confidence, whatever the distribution: of "
        "13 rounds, the third smallest and the third largest figure. It is right for each claim by "
        "itself: of twenty claims without anything in them, one may come out either way by luck.",
    ),
    Column(
        "verdict",
        "holds: the interval lies within what the claim needs. does not hold: it lies outside. not "
        "shown: neither. cannot be shown here: for want of processors, counters or programs. A "
        "claim needs that better is better and worse is worse, or the margin that the paper "
        "states as one; how much better depends on the processors, and is for the reader to "
        "compare.",
    ),
]

STYLES = {
    Verdict.HOLDS: "green",
    Verdict.FAILS: "red",
    Verdict.OPEN: "yellow",
    Verdict.ELSEWHERE: "dim",
}
"""The style of a line by its verdict."""


def compared(claim: Claim) -> str:
    """`op/s of mcs-spin / mcs-stp, random-array, threads 2/cpu`."""
    if not claim.workload:
        return ""
    sides = " / ".join(side.name for side in claim.sides)
    settings = [setting(point) for point in claim.points]
    where = settings[0] if len(settings) == 1 else f"{len(settings)} settings, {settings[0]} to "
    where += "" if len(settings) == 1 else settings[-1]
    return ", ".join(
        part for part in (f"{claim.what.heading} of {sides}", claim.workload, where) if part
    )


def setting(options: Mapping[str, object]) -> str:
    """`threads 2/cpu, section-cycles 1000`."""
    return ", ".join(f"{name} {value}" for name, value in options.items())


def interval(finding: Finding) -> str:
    """`0.93 to 1.02`, or `-`."""
    if finding.low is None or finding.high is None:
        return "-"
    return f"{plain(finding.low)} to {plain(finding.high)}"


def here(finding: Finding) -> str:
    """The median, or `-`."""
    return "-" if finding.median is None else plain(finding.median)


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Each claim with what it says, what was published, what is here, and why."""
    for finding in findings:
        claim = finding.claim
        console.print()
        console.print(f"{claim.name}: {finding.verdict}", style=STYLES[finding.verdict])
        print_claim(console, claim)
        if finding.median is not None:
            measured = f"{here(finding)} ({interval(finding)}): {compared(claim)}"
            terminal.print_wrapped(console, "  here:      ", measured, "")
        terminal.print_wrapped(console, "  why:       ", finding.why, "")


def print_list(console: Console, claims: Sequence[Claim], obstacles: Sequence[str]) -> None:
    """Each claim with how it is tested, or why it is not. obstacles: "" for those that can be."""
    for claim, obstacle in zip(claims, obstacles, strict=True):
        console.print(claim.name, style="bold")
        print_claim(console, claim)
        if claim.workload:
            terminal.print_wrapped(console, "  tested by: ", compared(claim), "")
        if obstacle:
            terminal.print_wrapped(console, "  not here:  ", obstacle, "")
        console.print()


def print_claim(console: Console, claim: Claim) -> None:
    """Prints what the claim says, its source and the published figures."""
    terminal.print_wrapped(console, "  ", claim.says, "")
    terminal.print_wrapped(console, "  source:    ", claim.source, "dim")
    published = claim.published
    if claim.ratio is not None:
        published = f"{plain(claim.ratio)}: {published}"
    terminal.print_wrapped(console, "  published: ", published, "")


def summary(findings: Sequence[Finding]) -> Table:
    """Return a line for each claim."""
    shown = table("Claims of the papers", COLUMNS)
    for finding in findings:
        ratio = finding.claim.ratio
        shown.add_row(
            finding.claim.name,
            "-" if ratio is None else plain(ratio),
            here(finding),
            interval(finding),
            str(finding.verdict),
            style=STYLES[finding.verdict],
        )
    return shown


def counted(findings: Sequence[Finding]) -> str:
    """`23 hold, 4 do not hold, 2 are not shown, 12 cannot be shown here.`"""
    counts = Counter(finding.verdict for finding in findings)
    words = {
        Verdict.HOLDS: "hold",
        Verdict.FAILS: "do not hold",
        Verdict.OPEN: "are not shown",
        Verdict.ELSEWHERE: "cannot be shown here",
    }
    said = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())
    return f"Of {len(findings)} claims {said}."


def row(finding: Finding) -> dict[str, object]:
    """Everything about a claim and what came of it, flat."""
    claim = finding.claim
    return {
        "claim": claim.name,
        "says": claim.says,
        "source": claim.source,
        "published": claim.published,
        "published_ratio": claim.ratio,
        "compared": compared(claim),
        "least": claim.least,
        "most": claim.most,
        "median": finding.median,
        "low": finding.low,
        "high": finding.high,
        "rounds": len(finding.values),
        "verdict": str(finding.verdict),
        "why": finding.why,
    }


def to_csv(findings: Sequence[Finding]) -> str:
    """Return a line for each claim."""
    text = io.StringIO()
    rows = [row(finding) for finding in findings]
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
