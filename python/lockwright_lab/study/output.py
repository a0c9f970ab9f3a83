"""Tables of a study as files: JSON in full precision, CSV and LaTeX rounded as in the papers."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lockwright import version
from lockwright.base import files

from lockwright_lab.study.analysis import Analysis
from lockwright_lab.study.result_table import MISSING, Table

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""


def write(
    analysis: Analysis,
    data: Sequence[Path],
    json_file: Path | None,
    csv_folder: Path | None,
    latex_folder: Path | None,
) -> None:
    """Write the chosen files. Raises LockwrightError if that fails."""
    if json_file is not None:
        json_file.absolute().parent.mkdir(parents=True, exist_ok=True)
        files.write(json_file, to_json(analysis, list(map(str, data))), "--json")
    for folder, ending, text_of in ((csv_folder, "csv", to_csv), (latex_folder, "tex", to_latex)):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for table in analysis.tables:
                path = folder / f"{table.name.replace('/', '_')}.{ending}"
                files.write(path, text_of(table), f"--{'csv' if ending == 'csv' else 'latex'}")


def to_json(analysis: Analysis, files: Sequence[str]) -> str:
    """Return the analysis in full precision; shares and gains are fractions, null where missing."""
    document = {
        "schema": SCHEMA,
        "lockwright": version(),
        "files": list(files),
        "rules": dict(analysis.rules),
        "notes": list(analysis.notes),
        "answers": [asdict(answer) for answer in analysis.answers],
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "meaning": table.meaning,
                "columns": table.columns(),
                "rows": table.numbers(),
            }
            for table in analysis.tables
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def to_csv(table: Table) -> str:
    """Return one table, rounded as in the papers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns())
    writer.writerows(table.rows())
    return text.getvalue()


def to_latex(table: Table) -> str:
    """Return one table for \\input, with the rules of the package booktabs."""
    columns = table.columns()
    lines = [
        f"% {table.title}: {table.meaning}",
        f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        "\\toprule",
        " & ".join(map(_escaped, columns)) + " \\\\",
        "\\midrule",
        *(" & ".join(map(_escaped, row)) + " \\\\" for row in table.rows()),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    if text == MISSING:
        return "--"
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(f"\\{c}" if c in "&%$#_{}" else special.get(c, c) for c in text)
