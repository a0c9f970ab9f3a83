"""Claims and their findings, on the terminal and as CSV."""

from collections import Counter
from collections.abc import Sequence

from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.calibrate.report import Column, empty_table, labels_text
from rich.console import Console
from rich.table import Table

from lockwright_lab.bench.claims.claim import Claim
from lockwright_lab.bench.claims.evaluate import Finding, Verdict
from lockwright_lab.bench.output import csv_text

COLUMNS = [
    Column("claim", "the name of the claim, for --claims."),
    Column("published", "the paper's own ratio, where it prints one."),
    Column(
        "here",
        "the figure on this machine: the quotient of the named statistic of the two named sides, "
        "taken within each round; over several settings the geometric mean, or of best-lock-* "
        "the quotient of the averages; median over the rounds.",
    ),
    Column(
        "95 % CI",
        "the range of the true median with 95 % confidence, for any distribution: of 13 rounds, "
        "the third smallest and the third largest figure. The confidence is for each claim by "
        "itself: of twenty claims without an effect, one may hold or fail by chance.",
    ),
    Column(
        "verdict",
        "holds: the interval lies within the bounds of the claim. does not hold: it lies outside. "
        "not shown: neither. cannot be shown here: processors, counters or programs are missing. "
        "A bound is 1 for better or worse, or a margin if the paper states one; how much better "
        "depends on the number of processors, and the verdict does not depend on it.",
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
    """Return a text such as `op/s of mcs-spin / mcs-stp, random-array, threads 2/cpu`."""
    if not claim.workload:
        return ""
    sides = " / ".join(side.name for side in claim.sides)
    settings = [labels_text(point) for point in claim.points]
    where = settings[0] if len(settings) == 1 else f"{len(settings)} settings, {settings[0]} to "
    where += "" if len(settings) == 1 else settings[-1]
    return ", ".join(
        part for part in (f"{claim.figure.heading} of {sides}", claim.workload, where) if part
    )


def interval(finding: Finding) -> str:
    """Return a text such as `0.93 to 1.02`, or `-`."""
    if finding.low is None or finding.high is None:
        return "-"
    return f"{plain(finding.low)} to {plain(finding.high)}"


def median_text(finding: Finding) -> str:
    """Return the median, or `-`."""
    return "-" if finding.median is None else plain(finding.median)


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print each claim with the published figures, the median on this machine, and the reason."""
    for finding in findings:
        claim = finding.claim
        console.print()
        console.print(f"{claim.name}: {finding.verdict}", style=STYLES[finding.verdict])
        print_claim(console, claim)
        if finding.median is not None:
            measured = f"{median_text(finding)} ({interval(finding)}): {compared(claim)}"
            terminal.print_wrapped(console, "  here:      ", measured, "")
        terminal.print_wrapped(console, "  why:       ", finding.reason, "")


def print_list(console: Console, claims: Sequence[Claim], obstacles: Sequence[str]) -> None:
    """Print each claim with its comparison, and the obstacle to it if that is not ""."""
    for claim, obstacle in zip(claims, obstacles, strict=True):
        console.print(claim.name, style="bold")
        print_claim(console, claim)
        if claim.workload:
            terminal.print_wrapped(console, "  tested by: ", compared(claim), "")
        if obstacle:
            terminal.print_wrapped(console, "  not here:  ", obstacle, "")
        console.print()


def print_claim(console: Console, claim: Claim) -> None:
    """Print the claim, its source and the published figures."""
    terminal.print_wrapped(console, "  ", claim.text, "")
    terminal.print_wrapped(console, "  source:    ", claim.source, "dim")
    published = claim.published
    if claim.ratio is not None:
        published = f"{plain(claim.ratio)}: {published}"
    terminal.print_wrapped(console, "  published: ", published, "")


def summary(findings: Sequence[Finding]) -> Table:
    """Return a table with a line for each claim."""
    table = empty_table("Claims of the papers", COLUMNS)
    for finding in findings:
        ratio = finding.claim.ratio
        table.add_row(
            finding.claim.name,
            "-" if ratio is None else plain(ratio),
            median_text(finding),
            interval(finding),
            str(finding.verdict),
            style=STYLES[finding.verdict],
        )
    return table


def counted(findings: Sequence[Finding]) -> str:
    """Return a sentence such as `Of 41 claims 23 hold, 4 do not hold, ...`."""
    counts = Counter(finding.verdict for finding in findings)
    words = {
        Verdict.HOLDS: "hold",
        Verdict.FAILS: "do not hold",
        Verdict.OPEN: "are not shown",
        Verdict.ELSEWHERE: "cannot be shown here",
    }
    numbers = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())
    return f"Of {len(findings)} claims {numbers}."


def row(finding: Finding) -> dict[str, object]:
    """Return the claim and its finding as one row of the CSV and JSON files."""
    claim = finding.claim
    return {
        "claim": claim.name,
        "says": claim.text,
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
        "why": finding.reason,
    }


def to_csv(findings: Sequence[Finding]) -> str:
    """Return a line for each claim."""
    return csv_text([row(finding) for finding in findings])
