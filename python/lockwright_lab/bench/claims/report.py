"""The report on claims, the list of them, and the rows of the files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.experiment.columns import term
from lockwright.experiment.report import INCOMPLETE, Grid, Report
from lockwright.page.rows import Row
from rich.console import Console

from lockwright_lab.bench.cases import labels_text
from lockwright_lab.bench.claims.claim import Claim
from lockwright_lab.bench.claims.evaluate import Finding, Verdict

COLUMNS = [
    term("claim", "the name of the claim, for --claims."),
    term("machine", "with --simulated: that of the paper, or the nearest that Lockwright has."),
    term("published", "the paper's own ratio, where it prints one."),
    term(
        "here",
        "the figure on this machine: the quotient of the named statistic of the two named sides, "
        "taken within each round; over several settings the geometric mean, or of best-lock-* "
        "the quotient of the averages; median over the rounds.",
    ),
    term(
        "interval",
        "the range of the true median with 95 % confidence, for any distribution: of 13 rounds, "
        "the third smallest and the third largest figure. The confidence is for each claim by "
        "itself: of twenty claims without an effect, one may hold or fail by chance. With "
        "--simulated, the lowest and the highest value over the seeds.",
    ),
    term(
        "verdict",
        "holds: the interval lies within the bounds of the claim. does not hold: it lies outside. "
        "not shown: neither. cannot be shown here: processors, counters or programs are missing, "
        "or are not simulated. A bound is 1 for better or worse, or a margin if the paper states "
        "one; how much better depends on the number of processors, and the verdict does not "
        "depend on it.",
    ),
]

_COUNTED = {
    Verdict.HOLDS: "hold",
    Verdict.FAILS: "do not hold",
    Verdict.OPEN: "are not shown",
    Verdict.ELSEWHERE: "cannot be shown here",
}


@dataclass(frozen=True)
class Simulated:
    """The machine that a claim was simulated on. differs: how it differs from the paper's."""

    name: str
    title: str
    differs: str = ""

    @property
    def sentence(self) -> str:
        """The machine in words."""
        differs = f"; it differs from the paper's: {self.differs}" if self.differs else ""
        return f"Machine: {self.name}, {self.title}{differs}."


def compared(claim: Claim) -> str:
    """Return a text such as `op/s of mcs-spin / mcs-stp, random-array, threads 2/cpu`."""
    if not claim.workload:
        return ""
    sides = " / ".join(side.name for side in claim.sides)
    points = [labels_text(point) for point in claim.points]
    where = (
        points[0] if len(points) == 1 else f"{len(points)} settings, {points[0]} to {points[-1]}"
    )
    parts = [f"{claim.figure.heading} of {sides}", claim.workload, where]
    return ", ".join(filter(None, parts))


def print_list(console: Console, claims: Sequence[Claim], obstacles: Sequence[str]) -> None:
    """Print each claim with its comparison, and the obstacle to it if that is not ""."""
    for claim, obstacle in zip(claims, obstacles, strict=True):
        ratio = "" if claim.ratio is None else f"{plain(claim.ratio)}: "
        console.print(claim.name, style="bold")
        for start, text, style in (
            ("  ", claim.text, ""),
            ("  source:    ", claim.source, "dim"),
            ("  published: ", f"{ratio}{claim.published}", ""),
            ("  tested by: ", compared(claim), ""),
            ("  not here:  ", obstacle, ""),
        ):
            if text:
                terminal.print_wrapped(console, start, text, style)
        console.print()


def _figures(finding: Finding) -> tuple[str, str]:
    """Return the median and the interval, each `-` without one."""
    median = "-" if finding.median is None else plain(finding.median)
    if finding.low is None or finding.high is None:
        return median, "-"
    return median, f"{plain(finding.low)} to {plain(finding.high)}"


def _sentences(finding: Finding, machine: Simulated | None) -> str:
    """Return a claim with the published figures, the figure here, and the reason."""
    claim, (median, interval) = finding.claim, _figures(finding)
    figure = f"Here: {median} ({interval}), {compared(claim)}."
    parts = [
        f"{claim.name}: {finding.verdict}. {claim.text}",
        f"Source: {claim.source}. Published: {claim.published}.",
        machine.sentence if machine else "",
        "" if finding.median is None else figure,
        finding.reason,
    ]
    return " ".join(filter(None, parts))


def _line(finding: Finding, machine: Simulated | None, is_simulated: bool) -> Row:
    ratio = finding.claim.ratio
    texts = [
        finding.claim.name,
        *([machine.name if machine else "-"] if is_simulated else []),
        "-" if ratio is None else plain(ratio),
        *_figures(finding),
        finding.verdict,
    ]
    kind = INCOMPLETE if finding.verdict in (Verdict.FAILS, Verdict.OPEN) else ""
    return Row([(str(text), str(text)) for text in texts], kind)


def report(
    usual: Report, findings: Sequence[Finding], machines: Mapping[str, Simulated] | None = None
) -> Report:
    """Return the report on claims, with a row for each. machines: by the name of the claim, None if
    they were measured."""
    is_simulated, machine_of = machines is not None, machines or {}
    columns = COLUMNS if is_simulated else [each for each in COLUMNS if each.heading != "machine"]
    title = f"Claims of the papers{', simulated' if is_simulated else ''}"
    of_each = [(each, machine_of.get(each.claim.name)) for each in findings]
    rows = [row(*each) for each in of_each]
    values = [{**line, "values": each.values} for line, each in zip(rows, findings, strict=True)]
    lines = [_line(*each, is_simulated) for each in of_each]
    return replace(
        usual,
        title=title,
        grids=[Grid(title, [each.heading for each in columns], lines)],
        legend=[(each.heading, each.definition) for each in columns],
        remarks=[*(_sentences(*each) for each in of_each), counted(findings), *usual.remarks],
        more={**usual.more, "simulated": is_simulated, "rows": values},
        csv_lines=rows,
    )


def counted(findings: Sequence[Finding]) -> str:
    """Return a sentence such as `Of 41 claims 23 hold, 4 do not hold, ...`."""
    counts = Counter(finding.verdict for finding in findings)
    numbers = ", ".join(f"{counts[verdict]} {word}" for verdict, word in _COUNTED.items())
    return f"Of {len(findings)} claims {numbers}."


def row(finding: Finding, machine: Simulated | None) -> dict[str, Any]:
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
        "machine": machine.name if machine else "",
        "machine_differs": machine.differs if machine else "",
        "verdict": str(finding.verdict),
        "why": finding.reason,
    }
