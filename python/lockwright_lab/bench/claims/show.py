"""Claims and their findings: the list, the report, and the rows of the files."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.experiment.columns import Column, term
from lockwright.experiment.report import INCOMPLETE, Grid, Report
from lockwright.page.rows import Row
from rich.console import Console

from lockwright_lab.bench.cases import labels_text
from lockwright_lab.bench.claims.claim import Claim
from lockwright_lab.bench.claims.evaluate import Finding, Verdict

COLUMNS = [
    term("claim", "the name of the claim, for --claims."),
    term("published", "the paper's own ratio, where it prints one."),
    term(
        "here",
        "the figure on this machine: the quotient of the named statistic of the two named sides, "
        "taken within each round; over several settings the geometric mean, or of best-lock-* "
        "the quotient of the averages; median over the rounds.",
    ),
    term(
        "95 % CI",
        "the range of the true median with 95 % confidence, for any distribution: of 13 rounds, "
        "the third smallest and the third largest figure. The confidence is for each claim by "
        "itself: of twenty claims without an effect, one may hold or fail by chance.",
    ),
    term(
        "verdict",
        "holds: the interval lies within the bounds of the claim. does not hold: it lies outside. "
        "not shown: neither. cannot be shown here: processors, counters or programs are missing. "
        "A bound is 1 for better or worse, or a margin if the paper states one; how much better "
        "depends on the number of processors, and the verdict does not depend on it.",
    ),
]

SIMULATED_COLUMNS = [
    term("claim", "the name of the claim, for --claims."),
    term("machine", "the machine of the paper, or the nearest that Lockwright has."),
    term("published", "the paper's own ratio, where it prints one."),
    term("simulated", "the same quotient, simulated; the median over the seeds."),
    term("range", "the lowest and the highest value over the seeds."),
    term(
        "verdict",
        "holds: the value of each seed lies within the bounds of the claim. does not hold: none "
        "does. open: it depends on the seed. cannot be expressed: the claim is about something "
        "that is not simulated.",
    ),
]


@dataclass(frozen=True)
class Words:
    """The words for claims on this machine, or on simulated ones. title: of the table; words: of
    the verdicts, by default their own; here: the name of the figure; counted: the sentence on all
    verdicts."""

    title: str
    columns: Sequence[Column]
    here: str
    counted: Callable[[Sequence[Finding]], str]
    words: Mapping[Verdict, str] = field(default_factory=dict)

    def verdict(self, verdict: Verdict) -> str:
        """Return the name of a verdict."""
        return self.words.get(verdict, str(verdict))


@dataclass(frozen=True)
class Shown:
    """A finding with what is shown beside it. machine: the name of the simulated machine; title:
    what it is; differs: how it differs from the paper's."""

    finding: Finding
    machine: str = ""
    title: str = ""
    differs: str = ""
    is_simulated: bool = False

    @property
    def reason(self) -> str:
        """The reason of the verdict."""
        text = self.finding.reason
        return text.replace("95 % interval", "range over the seeds") if self.is_simulated else text


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


def _interval(finding: Finding) -> str:
    """Return a text such as `0.93 to 1.02`, or `-`."""
    if finding.low is None or finding.high is None:
        return "-"
    return f"{plain(finding.low)} to {plain(finding.high)}"


def _median(finding: Finding) -> str:
    """Return the median, or `-`."""
    return "-" if finding.median is None else plain(finding.median)


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


def _published(claim: Claim) -> str:
    return "-" if claim.ratio is None else plain(claim.ratio)


def _sentences(words: Words, shown: Shown) -> str:
    """Return a claim with the published figures, the figure here, and the reason."""
    finding, claim = shown.finding, shown.finding.claim
    prefix = "simulated: " if shown.is_simulated else ""
    parts = [
        f"{claim.name}: {prefix}{words.verdict(finding.verdict)}.",
        claim.text,
        f"Source: {claim.source}.",
        f"Published: {claim.published}.",
    ]
    if shown.machine:
        differs = f"; it differs from the paper's: {shown.differs}" if shown.differs else ""
        parts.append(f"Machine: {shown.machine}, {shown.title}{differs}.")
    if finding.median is not None:
        figures = f"{_median(finding)} ({_interval(finding)})"
        parts.append(f"{words.here.capitalize()}: {figures}, {compared(claim)}.")
    return " ".join([*parts, shown.reason])


def _line(words: Words, shown: Shown) -> Row:
    finding = shown.finding
    texts = [
        finding.claim.name,
        *([shown.machine or "-"] if shown.is_simulated else []),
        _published(finding.claim),
        _median(finding),
        _interval(finding),
        words.verdict(finding.verdict),
    ]
    kind = INCOMPLETE if finding.verdict in (Verdict.FAILS, Verdict.OPEN) else ""
    return Row([(text, text) for text in texts], kind)


def report(usual: Report, words: Words, shown: Sequence[Shown]) -> Report:
    """Return the report on claims, with a row for each."""
    found = [each.finding for each in shown]
    rows = [row(words, each) for each in shown]
    values = [{**line, "values": one.values} for line, one in zip(rows, found, strict=True)]
    return replace(
        usual,
        title=words.title,
        grids=[
            Grid(
                words.title,
                [each.heading for each in words.columns],
                [_line(words, each) for each in shown],
            )
        ],
        legend=[(each.heading, each.definition) for each in words.columns],
        remarks=[
            *(_sentences(words, each) for each in shown),
            words.counted(found),
            *usual.remarks,
        ],
        more={**usual.more, "rows": values},
        csv_lines=rows,
    )


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


def counted_expressed(found: Sequence[Finding]) -> str:
    """Return a sentence such as `Of 51 claims that can be expressed, 43 hold (84 %), ...`."""
    counts = Counter(finding.verdict for finding in found)
    expressed = len(found) - counts[Verdict.ELSEWHERE]
    share = f" ({100 * counts[Verdict.HOLDS] / expressed:.0f} %)" if expressed else ""
    return (
        f"Of {expressed} claims that can be expressed, {counts[Verdict.HOLDS]} hold{share}, "
        f"{counts[Verdict.FAILS]} do not hold, {counts[Verdict.OPEN]} are open; "
        f"{counts[Verdict.ELSEWHERE]} cannot be expressed."
    )


def row(words: Words, shown: Shown) -> dict[str, object]:
    """Return the claim and its finding as one row of the CSV and JSON files."""
    finding, claim = shown.finding, shown.finding.claim
    of_machine: dict[str, object] = {}
    if shown.is_simulated:
        of_machine = {
            "simulated": True,
            "machine": shown.machine,
            "machine_differs": shown.differs,
        }
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
        **of_machine,
        "verdict": words.verdict(finding.verdict),
        "why": shown.reason,
    }


MEASURED = Words("Claims of the papers", COLUMNS, "here", counted)

SIMULATED = Words(
    "Claims of the papers, simulated",
    SIMULATED_COLUMNS,
    "simulated",
    counted_expressed,
    {Verdict.OPEN: "open", Verdict.ELSEWHERE: "cannot be expressed"},
)
