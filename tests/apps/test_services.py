"""Servers, databases and runtimes do their work under one lock of every category."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import locate

CATALOGUE = Path(__file__).parent / "catalogue"
ROWS = json.loads((CATALOGUE / "catalogue.json").read_text())
PROGRAMS = [row["name"] for row in ROWS]
LONG_PROGRAMS = [row["name"] for row in ROWS if row.get("long")]
#: One of each category.
LOCKS = ["futex", "mcs-stp", "c-bo-mcs-stp", "malth-stp"]
#: Set by who has the time: then the programs that take minutes run too.
LONG = "LOCKWRIGHT_TEST_LONG"


@pytest.mark.timeout(3300 if os.environ.get(LONG) else 660)
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(tmp_path: Path, program: str) -> None:
    """With four threads for each processor, and as it ends under the C library's mutex."""
    table = tmp_path / "table.csv"
    script = locate.ROOT / "scripts/test_programs.py"
    words: list[str | Path] = [
        "--catalogue",
        CATALOGUE,
        "--table",
        table,
        "--folder",
        tmp_path / "programs",
    ]
    words += ["--programs", program, "--locks", ",".join(LOCKS), "--per-processor", "4"]
    words += ["--long", "--limit", "600"] if os.environ.get(LONG) else []
    done = subprocess.run(
        [sys.executable, script, *words],
        capture_output=True,
        text=True,
        timeout=3000 if os.environ.get(LONG) else 600,
        check=False,
    )
    if "left out" in done.stdout:
        pytest.skip(done.stdout.splitlines()[0])
    print(done.stdout)
    with table.open() as lines:
        rows = list(csv.DictReader(lines))
    if program in LONG_PROGRAMS and not rows:
        pytest.skip(f"takes minutes; runs where {LONG} is set")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["lock"] for row in rows] == ["pthread", *LOCKS]
    assert all(row["ending"] == "ok" for row in rows), done.stdout
    # The lock was in.
    assert all(int(row["acquisitions"]) > 0 for row in rows), rows
