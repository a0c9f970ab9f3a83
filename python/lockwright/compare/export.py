"""Results for other programs: JSON with all data, CSV with a line per run."""

import csv
import io
import json
from dataclasses import asdict, fields
from typing import Any

from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.report import Report
from lockwright.run.record import Record

SCHEMA = 1
"""Increased when a field is removed or changes its meaning."""


def to_json(report: Report) -> str:
    """Return the comparison as JSON. threads is null for a command without a number of threads."""
    comparison = report.comparison
    plan = asdict(comparison.plan)
    plan["other_libraries"] = {
        library.name: str(library.path) for library in comparison.plan.other_libraries
    }
    plan["threads"] = [_threads(threads) for threads in comparison.plan.threads]
    document = {
        "schema": SCHEMA,
        "title": report.title,
        "started": comparison.started,
        "plan": plan,
        "provenance": comparison.provenance,
        "probe": comparison.probe,
        "metered": [
            {"threads": _threads(table.threads), "lock": lock, **medians}
            for table in report.meter_tables
            for lock, medians in table.medians.items()
        ],
        "summaries": [_row(summary) for table in report.tables for summary in table],
        "warnings": list(report.warnings),
        "verdict": asdict(report.verdict),
        **report.more,
        "runs": [_row(run) for run in report.records],
    }
    return json.dumps(document, indent=2) + "\n"


def to_csv(report: Report) -> str:
    """Return a line per run, warm-up runs (round below 1) included. Columns are those of Record,
    the unit, and one for each metered value."""
    text = io.StringIO()
    names = [field.name for field in fields(Record)]
    names.insert(names.index("value") + 1, "unit")
    names.remove("meters")
    names += list(dict.fromkeys(name for run in report.records for name in run.meters))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for run in report.records:
        row = _row(run) | {"unit": report.comparison.plan.unit}
        writer.writerow(row | row.pop("meters"))
    return text.getvalue()


def _threads(threads: int) -> int | None:
    return None if threads == UNSPECIFIED else threads


def _row(row: Any) -> dict[str, Any]:
    values = asdict(row)
    values["threads"] = _threads(values["threads"])
    return values
