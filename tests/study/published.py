"""The published study and its tables, where they are there; they are no part of the sources."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from support import locate

SHARED = locate.ROOT.parent / "shared"
DATA = SHARED / "data" / "published-study"
TABLES = SHARED / "spec" / "tables"


def required(path: Path) -> Path:
    """The path, or the test is skipped."""
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def lines(name: str) -> list[list[str]]:
    """Heading and lines of a published table."""
    with required(TABLES / name).open(newline="") as file:
        return list(csv.reader(file))
