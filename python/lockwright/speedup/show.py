"""The result of experiments as a table, a sentence, and files."""

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
from lockwright.speedup.measure import Measured
from lockwright.speedup.windows import Gain

Simulated = Mapping[int, Estimate | None]
"""The simulated gain by the share of the sections."""


SHORT = 8e3
"""Ns of a section about as long as a sleep and a wake of a thread take, futex calls included."""


def rows(measured: Measured, simulated: Simulated) -> list[dict[str, Any]]:
    """Return a row for each share. Values are None where there are none."""
    return [
        {
            "shorter_percent": each.share,
            "gain": each.ratio.value if each.ratio else None,
            "gain_low": each.ratio.low if each.ratio else None,
            "gain_high": each.ratio.high if each.ratio else None,
            "simulated": found.value if (found := simulated.get(each.share)) else None,
        }
        for each in measured.gains
    ]


def table(measured: Measured, simulated: Simulated) -> Grid:
    """Return the table of the gains."""
    headings = ["Sections shorter by", "measured gain", "interval"]
    headings += ["simulated"] if simulated else []
    lines = []
    for row in rows(measured, simulated):
        share, gain, low, high, found = row.values()
        cells = [number(share, f"{share} %"), _ratio(gain), (numbers.interval(low, high), "")]
        lines.append(Row([*cells, *([_ratio(found)] if simulated else [])]))
    title = f"{measured.subject.mutex} in {shlex.join(measured.command)}"
    return Grid(f"{title}: gain in {_progress(measured)}", headings, lines)


def show(console: Console, measured: Measured, simulated: Simulated) -> None:
    """Print the table and the sentence."""
    print_grid(console, table(measured, simulated))
    print_wrapped(console, "", sentence(measured), "bold")
    for note in notes(measured):
        print_wrapped(console, "", note, "dim")


def page(measured: Measured, simulated: Simulated) -> str:
    """Return the page: the gains as a curve and a table, and how they were measured."""
    return templates.fill(
        "speedup/page/page.html",
        {
            "rows": rows(measured, simulated),
            "progress": _progress(measured),
            "locks": [],
            "baseline": "",
        },
        title=f"Experiments on {measured.subject.mutex}",
        mutex=measured.subject.mutex,
        command=measured.command,
        verdict=sentence(measured),
        has_simulated=bool(simulated),
        table=table(measured, simulated),
        notes=notes(measured),
    )


def _ratio(value: float | None) -> tuple[str, str]:
    return number(math.nan, "") if value is None else number(value, numbers.ratio(value))


def _progress(measured: Measured) -> str:
    return "the runs" if measured.is_whole else f"the rate of {measured.subject.progress}"


def sentence(measured: Measured) -> str:
    """Return what shorter sections gain."""
    mutex, found = measured.subject.mutex, _strongest(measured.gains)
    if found is None or found.ratio is None:
        return f"No gain could be measured: nearly all time is in sections of {mutex}."
    ratio = found.ratio
    interval = numbers.interval(ratio.low, ratio.high)
    who = "the program" if measured.is_whole else measured.subject.progress
    verb, often = ("be", "fast") if measured.is_whole else ("be taken", "often")
    start = f"With sections of {mutex} {found.share} % shorter, {who} would {verb}"
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        return f"{start} as {often} as now ({interval} times)."
    return f"{start} {numbers.ratio(ratio.value)} times as {often} ({interval})."


def notes(measured: Measured) -> list[str]:
    """Return how it was measured, at what cost, and what to beware of."""
    subject = measured.subject
    each = "runs" if measured.is_whole else "windows"
    run = "runs" if measured.is_whole else "run"
    lines = [
        f"Measured in {len(measured.rounds)} {each} of about {numbers.time(1e9 * subject.seconds)}"
        f" for each share. The delays of the experiments made the {run}"
        f" {numbers.percent(max(0.0, measured.overhead))} longer."
    ]
    if measured.plain is not None:
        interval = numbers.interval(measured.plain.low, measured.plain.high)
        lines[0] += (
            f" Runs without the library are {numbers.ratio(measured.plain.value)} times as fast as"
            f" the controls ({interval})."
        )
    if subject.is_crowded:
        lines.append(
            "More threads than processors: gains may be larger than what the processors can do."
        )
    if subject.section < SHORT:
        lines.append(
            f"Its sections last {numbers.time(subject.section)} on average, no longer than a thread"
            " takes to wake up: if shorter ones spare threads to fall asleep, they gain more."
        )
    return lines


def _strongest(found: list[Gain]) -> Gain | None:
    """Return the gain of the largest share that has one."""
    return next((each for each in reversed(found) if each.ratio is not None), None)


def write(measured: Measured, simulated: Simulated, outputs: Mapping[str, Path | None]) -> None:
    """Write the files that are asked for. outputs: by the option."""
    json_file, csv_file, html_file = (outputs[each] for each in ("--json", "--csv", "--html"))
    found = rows(measured, simulated)
    if json_file is not None:
        subject = measured.subject
        document = {
            "measured": True,
            "version": version(),
            "command": list(measured.command),
            "mutex": subject.mutex,
            "progress": subject.progress or "end of the run",
            "delayed_share": measured.delayed,
            "overhead": measured.overhead,
            "without_library": measured.plain and measured.plain.value,
            "section_ns": None if math.isinf(subject.section) else subject.section,
            "rows": found,
            "rounds": [[vars(window) for window in each.values()] for each in measured.rounds],
        }
        files.write(json_file, json.dumps(document, indent=1, allow_nan=False) + "\n", "--json")
    if csv_file is not None:
        files.write(csv_file, csv_text(found), "--csv")
    if html_file is not None:
        files.write(html_file, page(measured, simulated), "--html")
