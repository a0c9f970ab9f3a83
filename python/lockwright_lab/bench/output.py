"""The output of a benchmark: on the terminal, as JSON and as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from lockwright.base import terminal
from lockwright.calibrate.report import Report, noise
from lockwright.doctor.examine import disturbances
from rich.table import Table

from lockwright_lab.bench import metered


def show(
    report: Report, tables: Sequence[Table], remarks: Sequence[str], json_file: Path | None
) -> None:
    """Print the tables with their remarks, and write the JSON file if one is given."""
    console = terminal.output()
    for table in [*tables, *metered.tables(report)]:
        console.print(table)
    for remark in [*remarks, *report.remarks()]:
        console.print(remark, markup=False)
    if report.busy is not None:
        console.print(noise(report.busy), markup=False)
    if doubtful := disturbances(report.findings):
        console.print(f"'lockwright doctor' warned of {doubtful}.", markup=False)
    for failure in dict.fromkeys(report.failures):
        console.print(f"Failed: {failure}", markup=False)
    console.print(f"Again: {' '.join(report.command)}", markup=False)
    console.print(
        f"What each column means: lockwright bench {report.workload} --help", markup=False
    )
    if json_file is not None:
        report.write(json_file)
        console.print(f"Written: {json_file}", markup=False)


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return the rows as CSV below a line with the names of all their columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
