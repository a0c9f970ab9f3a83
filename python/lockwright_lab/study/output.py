"""Tables of a study as files: JSON in full precision, CSV and LaTeX rounded as in the papers."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
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
    text: str = _as_printed(table).to_csv(index=False)
    return text


def to_latex(table: Table) -> str:
    """Return one table for \\input, with the rules of the package booktabs."""
    printed = _as_printed(table).replace(MISSING, "--")
    styled = printed.style.hide(axis="index").format(escape="latex")
    styled = styled.format_index(escape="latex", axis="columns")
    shape = "l" + "r" * (len(printed.columns) - 1)
    rows: str = styled.to_latex(hrules=True, column_format=shape)
    return f"% {table.title}: {table.meaning}\n{rows}"


def _as_printed(table: Table) -> pd.DataFrame:
    return pd.DataFrame(table.rows(), columns=table.columns())
