"""Claims as they were simulated: on the screen, as CSV and as JSON."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from lockwright import version
from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.bench.claims import show
from lockwright.bench.claims.evaluate import Finding, Verdict
from lockwright.bench.claims.simulate import Experiment
from lockwright.bench.report import Column, table

WORDS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "does not hold",
    Verdict.OPEN: "open",
    Verdict.ELSEWHERE: "cannot be expressed",
}
"""The verdicts, as they are called for simulations."""

COLUMNS = [
    Column("claim", "its name, for --claims."),
    Column("machine", "that of the paper, or the nearest that comes with Lockwright."),
    Column("published", "the paper's own ratio, where it prints one."),
    Column("simulated", "the same quotient, simulated; the median over the seeds."),
    Column("range", "the lowest and the highest value over the seeds."),
    Column(
        "verdict",
        "holds: the value of each seed lies within the bounds of the claim. does not hold: none "
        "does. open: it depends on the seed. cannot be expressed: the claim is about something "
        "that is not simulated.",
    ),
]


def print_findings(
    console: Console, chosen: Sequence[Experiment], found: Sequence[Finding]
) -> None:
    """Prints each claim, the published figures, what was simulated, and the reason."""
    for one, finding in zip(chosen, found, strict=True):
        claim = finding.claim
        console.print()
        verdict = f"{claim.name}: simulated: {WORDS[finding.verdict]}"
        console.print(verdict, style=show.STYLES[finding.verdict])
        show.print_claim(console, claim)
        if one.machine is not None:
            terminal.print_wrapped(console, "  machine:   ", machine_of(one), "")
        if finding.median is not None:
            value = f"{show.here(finding)} ({show.interval(finding)}): {show.compared(claim)}"
            terminal.print_wrapped(console, "  simulated: ", value, "")
        terminal.print_wrapped(console, "  why:       ", _why(finding), "")


def machine_of(one: Experiment) -> str:
    """`t5-2: Oracle T5-2 ...; it differs: ...`; "" if the claim cannot be expressed."""
    if one.machine is None or one.setting is None:
        return ""
    differs = f"; it differs from the paper's: {one.setting.nearest}" if one.setting.nearest else ""
    return f"{one.machine.name}: {one.machine.title}{differs}"


def _why(finding: Finding) -> str:
    return finding.why.replace("95 % interval", "range over the seeds")


def summary(chosen: Sequence[Experiment], found: Sequence[Finding]) -> Table:
    """A table with a line for each claim."""
    shown = table("Claims of the papers, simulated", COLUMNS)
    for one, finding in zip(chosen, found, strict=True):
        ratio = finding.claim.ratio
        shown.add_row(
            finding.claim.name,
            "-" if one.machine is None else one.machine.name,
            "-" if ratio is None else plain(ratio),
            show.here(finding),
            show.interval(finding),
            WORDS[finding.verdict],
            style=show.STYLES[finding.verdict],
        )
    return shown


def counted(found: Sequence[Finding]) -> str:
    """`Of 51 claims that can be expressed, 43 hold (84 %), 6 do not hold, 2 are open; ...`"""
    counts = Counter(finding.verdict for finding in found)
    expressed = len(found) - counts[Verdict.ELSEWHERE]
    share = f" ({100 * counts[Verdict.HOLDS] / expressed:.0f} %)" if expressed else ""
    return (
        f"Of {expressed} claims that can be expressed, {counts[Verdict.HOLDS]} hold{share}, "
        f"{counts[Verdict.FAILS]} do not hold, {counts[Verdict.OPEN]} are open; "
        f"{counts[Verdict.ELSEWHERE]} cannot be expressed."
    )


def rows(chosen: Sequence[Experiment], found: Sequence[Finding]) -> list[dict[str, object]]:
    """A flat row for each claim, with the machine that it was simulated on."""
    return [
        {
            **show.row(finding),
            "simulated": True,
            "machine": "" if one.machine is None else one.machine.name,
            "machine_differs": "" if one.setting is None else one.setting.nearest,
            "verdict": WORDS[finding.verdict],
            "why": _why(finding),
        }
        for one, finding in zip(chosen, found, strict=True)
    ]


def to_csv(chosen: Sequence[Experiment], found: Sequence[Finding]) -> str:
    """Return the rows as CSV."""
    text = io.StringIO()
    lines = rows(chosen, found)
    writer = csv.DictWriter(text, list(lines[0]) if lines else [])
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def to_json(
    chosen: Sequence[Experiment],
    found: Sequence[Finding],
    seeds: int,
    failures: Sequence[str],
    complete: bool,
) -> str:
    """Return the rows, the value of each seed, and the machines with their sources."""
    machines = {one.machine.name: one.machine for one in chosen if one.machine is not None}
    lines = rows(chosen, found)
    document = {
        "simulated": True,
        "complete": complete,
        "version": version(),
        "seeds": seeds,
        "columns": {column.heading: column.definition for column in COLUMNS},
        "rows": [
            {**line, "values": finding.values} for line, finding in zip(lines, found, strict=True)
        ],
        "machines": {
            name: {
                "title": machine.title,
                "figures": dict(machine.figures),
                "sources": dict(machine.sources),
            }
            for name, machine in machines.items()
        },
        "failures": list(failures),
    }
    return json.dumps(document, indent=1) + "\n"
