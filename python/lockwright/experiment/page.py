"""The HTML page of an experiment, one file that needs no other file and no network.

The folder page has its own parts, lockwright.page the common parts of all pages.
"""

import math
from collections.abc import Sequence
from typing import Any

from lockwright.experiment.model import FAILED, TIMEOUT
from lockwright.experiment.report import Report
from lockwright.experiment.summary import Summary
from lockwright.machine import provenance
from lockwright.machine.meters import FACTS


def render(report: Report) -> str:
    """Return the page as text. Its plots are of the main figure."""
    from lockwright.page import templates

    experiment, main = report.experiment, report.experiment.main
    # Energy and counters have their own tables and remarks.
    known = {name: fact for name, fact in report.facts.items() if name != FACTS}
    better = "lower" if main.lower_is_better else "higher"
    return templates.fill(
        "experiment/page/page.html",
        _data(report),
        title=report.title,
        report=report,
        kind=experiment.kind,
        base=experiment.base,
        measured=report.quantity or f"Measured: {main.name} in {main.unit} ({better} is better).",
        ratio=report.ratio or f"the ratio of the {main.name} of the same round",
        legend={term.replace("\n", " "): meaning for term, meaning in report.legend},
        warnings=[*report.remarks, *report.warnings, *report.failures],
        provenance={"started": report.started, **report.conditions, **provenance.printable(known)},
    )


def _data(report: Report) -> dict[str, Any]:
    """Return the data that page.js draws. All values are finite."""
    experiment, main = report.experiment, report.experiment.main
    panels = []
    for rows in report.cells:
        runs = [
            {
                "lock": run.contender,
                "round": run.round,
                "value": run.figures.get(main.name),
                "others": run.others,
            }
            for row in rows
            for run in row.runs
        ]
        cell = rows[0].of_cell
        short = next(iter(cell.options.values()), cell.name)
        panels.append(
            {
                "label": cell.name,
                "threads": short,
                "runs": runs,
                "rows": [_point(row) for row in rows],
            }
        )
    names = [next(iter(each.options), "cell") for each in experiment.cells]
    return {
        "baseline": experiment.base,
        "locks": experiment.names,
        "unit": main.unit,
        "quantity": main.name if main.name != "value" else main.unit,
        "lowerIsBetter": main.lower_is_better,
        "runs": experiment.rounds,
        "axis": names[0] if len(set(names)) == 1 else "cell",
        "panels": panels,
    }


def _point(row: Summary) -> dict[str, Any]:
    ratio = row.ratio
    interval: Sequence[float | None] = []
    if ratio is not None:
        interval = [ratio.value, ratio.low, ratio.high]
    missing = None
    if row.median is None:
        missing = TIMEOUT if row.timeouts else FAILED
    return {
        "lock": row.contender,
        "median": row.median,
        "missing": missing,
        "spread": row.spread,
        "mark": row.mark,
        "ratio": interval if ratio and all(math.isfinite(x or 1) for x in interval) else None,
    }
