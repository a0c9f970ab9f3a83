"""`lockwright bench simulator`: real runs, simulations, and their agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate import machine

from .conftest import Cli

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

SMALL = (
    *("bench", "simulator", "--locks", "ttas", "--workloads", "single-lock"),
    *("--threads", "1", "--seconds", "0.05", "--warm-up", "0.01", "--machine", "a-64"),
)


def test_missing_runs_are_made_and_the_agreement_is_printed(cli: Cli, tmp_path: Path) -> None:
    """Parts are made by several commands, and the runs of earlier ones are kept."""
    file = tmp_path / "found.json"
    first = cli(*SMALL, "--parts", "real", "--json", file)
    assert first.status == 0, first.err
    assert "--resume" in first.err
    made = json.loads(file.read_text())["runs"]
    assert sorted((run["lock"], run["round"]) for run in made) == [
        ("pthread", 1), ("pthread", 2), ("ttas", 1), ("ttas", 2),
    ]  # fmt: skip
    # A busy machine may give a thread no time in so short a run.
    assert all((run["rate"] is None) == bool(run["reason"]) for run in made)
    second = cli(*SMALL, "--parts", "real,simulated", "--resume", "--json", file)
    assert second.status == 0, second.err
    again = json.loads(file.read_text())["runs"]
    assert again[: len(made)] == made
    assert [run["lock"] for run in again[len(made) :]] in (
        ["pthread simulated", "ttas simulated"],
        ["ttas simulated", "pthread simulated"],
    )
    assert "single-lock" in second.out


def test_bad_input_is_refused(cli: Cli) -> None:
    cli(*SMALL, "--resume").refuses("no interrupted simulator", "--resume")
    assert cli(*SMALL, "--parts", "real").status == 0
    cli(*SMALL, "--seconds", "0.06", "--resume").refuses("--seconds")


@pytest.mark.full("test_machine_file.py measures a machine")
def test_a_machine_is_measured_into_a_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    result = cli("calibrate", "--machine-file", path, "--runs", "1")
    assert result.status == 0, result.err
    assert machine.load(str(path)).sources["rmw"].startswith("measured")
    assert not (tmp_path / "config").exists()
    cli("calibrate", "--machine-file", path, "--output", path).refuses("--output")
    cli("calibrate", "--machine-file", "/nonexistent/m.toml").refuses("/nonexistent/m.toml")
