"""The findings of simulated claims, on the terminal, as CSV and as JSON."""

import json
from collections import Counter
from collections.abc import Sequence

from lockwright import version
from lockwright.base import terminal
from lockwright.base.numbers import plain
from lockwright.calibrate.report import Column, empty_table
from rich.console import Console
from rich.table import Table

from lockwright_lab.bench.claims import show
from lockwright_lab.bench.claims.evaluate import Finding, Verdict
from lockwright_lab.bench.claims.simulate import Experiment
from lockwright_lab.bench.output import csv_text

WORDS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "does not hold",
    Verdict.OPEN: "open",
    Verdict.ELSEWHERE: "cannot be expressed",
}
"""The names of the verdicts of simulations."""

COLUMNS = [
    Column("claim", "the name of the claim, for --claims."),
    Column("machine", "the machine of the paper, or the nearest that Lockwright has."),
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
    """Print each claim with the published figures, the simulated median, and the reason."""
    for experiment, finding in zip(chosen, found, strict=True):
        claim = finding.claim
        console.print()
        verdict = f"{claim.name}: simulated: {WORDS[finding.verdict]}"
        console.print(verdict, style=show.STYLES[finding.verdict])
        show.print_claim(console, claim)
        if experiment.machine is not None:
            terminal.print_wrapped(console, "  machine:   ", _machine_text(experiment), "")
        if finding.median is not None:
            figures = f"{show.median_text(finding)} ({show.interval(finding)})"
            text = f"{figures}: {show.compared(claim)}"
            terminal.print_wrapped(console, "  simulated: ", text, "")
        terminal.print_wrapped(console, "  why:       ", _reason(finding), "")


def _machine_text(experiment: Experiment) -> str:
    """Return a text such as `t5-2: Oracle T5-2 ...; it differs from the paper's: ...`."""
    if experiment.machine is None or experiment.setting is None:
        return ""
    nearest = experiment.setting.nearest
    differs = f"; it differs from the paper's: {nearest}" if nearest else ""
    return f"{experiment.machine.name}: {experiment.machine.title}{differs}"


def _reason(finding: Finding) -> str:
    return finding.reason.replace("95 % interval", "range over the seeds")


def summary(chosen: Sequence[Experiment], found: Sequence[Finding]) -> Table:
    """Return a table with a line for each claim."""
    table = empty_table("Claims of the papers, simulated", COLUMNS)
    for experiment, finding in zip(chosen, found, strict=True):
        ratio = finding.claim.ratio
        table.add_row(
            finding.claim.name,
            "-" if experiment.machine is None else experiment.machine.name,
            "-" if ratio is None else plain(ratio),
            show.median_text(finding),
            show.interval(finding),
            WORDS[finding.verdict],
            style=show.STYLES[finding.verdict],
        )
    return table


def counted(found: Sequence[Finding]) -> str:
    """Return a sentence such as `Of 51 claims that can be expressed, 43 hold (84 %), ...`."""
    counts = Counter(finding.verdict for finding in found)
    expressed = len(found) - counts[Verdict.ELSEWHERE]
    share = f" ({100 * counts[Verdict.HOLDS] / expressed:.0f} %)" if expressed else ""
    return (
        f"Of {expressed} claims that can be expressed, {counts[Verdict.HOLDS]} hold{share}, "
        f"{counts[Verdict.FAILS]} do not hold, {counts[Verdict.OPEN]} are open; "
        f"{counts[Verdict.ELSEWHERE]} cannot be expressed."
    )


def rows(chosen: Sequence[Experiment], found: Sequence[Finding]) -> list[dict[str, object]]:
    """Return a row for each claim, with its simulated machine."""
    return [
        {
            **show.row(finding),
            "simulated": True,
            "machine": "" if experiment.machine is None else experiment.machine.name,
            "machine_differs": "" if experiment.setting is None else experiment.setting.nearest,
            "verdict": WORDS[finding.verdict],
            "why": _reason(finding),
        }
        for experiment, finding in zip(chosen, found, strict=True)
    ]


def to_csv(chosen: Sequence[Experiment], found: Sequence[Finding]) -> str:
    """Return the rows as CSV."""
    return csv_text(rows(chosen, found))


def to_json(
    chosen: Sequence[Experiment],
    found: Sequence[Finding],
    seeds: int,
    failures: Sequence[str],
    complete: bool,
) -> str:
    """Return the rows, the value of each seed, and the machines with their sources."""
    machines = {each.machine.name: each.machine for each in chosen if each.machine is not None}
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
