"""The result of experiments as a table and files."""

import json
import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from lockwright import version
from lockwright.base import files, numbers
from lockwright.base.terminal import print_wrapped
from lockwright.experiment.export import csv_text
from lockwright.experiment.report import Grid
from lockwright.experiment.terminal import print_grid
from lockwright.page import templates
from lockwright.page.rows import Row, number
from lockwright.predict.estimate import Estimate
from lockwright.speedup.measure import Curve, Measured
from lockwright.speedup.verdict import notes, sentence
from lockwright.speedup.windows import is_shorter, name

Simulated = Mapping[str, Mapping[int, Estimate | None]]
"""The simulated gain by the mutex and the share of its sections."""


def rows(measured: Measured, simulated: Simulated) -> list[dict[str, Any]]:
    """Return a row for each mutex and share. Values are None where there are none."""
    return [
        {"mutex": curve.subject.mutex, **row}
        for curve in measured.curves
        for row in _rows(curve, simulated)
    ]


def _rows(curve: Curve, simulated: Simulated) -> list[dict[str, Any]]:
    of_mutex = simulated.get(curve.subject.mutex, {})
    return [
        {
            "change": name(each.share),
            "shorter_percent": each.share if is_shorter(each.share) else None,
            "threads": -each.share if each.share < 0 else None,
            "gain": each.ratio.value if each.ratio else None,
            "gain_low": each.ratio.low if each.ratio else None,
            "gain_high": each.ratio.high if each.ratio else None,
            "simulated": found.value if (found := of_mutex.get(each.share)) else None,
        }
        for each in curve.gains
    ]


def table(measured: Measured, simulated: Simulated) -> Grid:
    """Return the table of the gains."""
    headings = ["Lock", "change", "measured gain", "interval"]
    headings += ["simulated"] if simulated else []
    lines = []
    for row in rows(measured, simulated):
        mutex, change, _, _, gain, low, high, found = row.values()
        cells = [(mutex, mutex), (change, change), _ratio(gain)]
        cells.append((numbers.interval(low, high), ""))
        lines.append(Row([*cells, *([_ratio(found)] if simulated else [])]))
    title = f"Gain in {_progress(measured)}: {shlex.join(measured.command)}"
    return Grid(title, headings, lines)


def accounts(measured: Measured) -> Grid:
    """Return the table of the time held and waited before the experiments, by mutex."""
    lines = []
    for subject in (curve.subject for curve in measured.curves):
        shares = [number(each, numbers.percent(each)) for each in (subject.held, subject.waited)]
        section = math.nan if math.isinf(subject.section) else subject.section
        mean = number(section, numbers.time(section))
        lines.append(Row([(subject.mutex, subject.mutex), *shares, mean]))
    return Grid("", ["Lock", "held", "waited", "mean section"], lines)


def show(console: Console, measured: Measured, simulated: Simulated) -> None:
    """Print the table and the sentence."""
    print_grid(console, table(measured, simulated))
    print_wrapped(console, "", sentence(measured), "bold")
    for note in notes(measured):
        print_wrapped(console, "", note, "dim")


def page(measured: Measured, simulated: Simulated) -> str:
    """Return the page: the gains as curves and a table, the account of the profile, and how they
    were measured."""
    subjects = [curve.subject for curve in measured.curves]
    names = [each.mutex for each in subjects]
    return templates.fill(
        "speedup/page/page.html",
        {
            "rows": rows(measured, simulated),
            "accounts": [
                {"mutex": each.mutex, "held": each.held, "waited": each.waited} for each in subjects
            ],
            "progress": _progress(measured),
            "locks": names,
            "baseline": "",
        },
        title=f"Experiments on {', '.join(names)}",
        command=measured.command,
        verdict=sentence(measured),
        has_simulated=bool(simulated),
        table=table(measured, simulated),
        accounts=accounts(measured),
        notes=notes(measured),
    )


def _ratio(value: float | None) -> tuple[str, str]:
    return number(math.nan, "") if value is None else number(value, numbers.ratio(value))


def _progress(measured: Measured) -> str:
    if measured.is_whole:
        return "the runs"
    rates = {curve.subject.progress for curve in measured.curves}
    return f"the rate of {rates.pop()}" if len(rates) == 1 else "the rate of the mutex"


def write(measured: Measured, simulated: Simulated, outputs: Mapping[str, Path | None]) -> None:
    """Write the files that are asked for. outputs: by the option."""
    json_file, csv_file, html_file = (outputs[each] for each in ("--json", "--csv", "--html"))
    if json_file is not None:
        text = json.dumps(_document(measured, simulated), indent=1, allow_nan=False)
        files.write(json_file, text + "\n", "--json")
    if csv_file is not None:
        files.write(csv_file, csv_text(rows(measured, simulated)), "--csv")
    if html_file is not None:
        files.write(html_file, page(measured, simulated), "--html")


def _document(measured: Measured, simulated: Simulated) -> dict[str, Any]:
    return {
        "measured": True,
        "version": version(),
        "command": list(measured.command),
        "delayed_share": measured.delayed,
        "overhead": measured.overhead,
        "without_library": measured.plain and measured.plain.value,
        "problems": list(measured.problems),
        "mutexes": [
            {
                "mutex": of.mutex,
                "progress": of.progress or "end of the run",
                "section_ns": None if math.isinf(of.section) else of.section,
                "held_share": of.held,
                "waited_share": of.waited,
                "rows": _rows(curve, simulated),
                "rounds": [[vars(window) for window in each.values()] for each in curve.rounds],
            }
            for curve in measured.curves
            for of in [curve.subject]
        ],
    }
