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
    folder = tmp_path / "v"
    first = cli(*SMALL, "--parts", "real", "-o", folder)
    assert first.status == 0, first.err
    runs = (folder / "validation.jsonl").read_text().splitlines()
    # The options, the process, and two rounds of pthread and ttas.
    assert len(runs) == 6
    for line in map(json.loads, runs[2:]):
        # A busy machine may give a thread no time in so short a run.
        assert (line["rate"] > 0) == (line["failure"] == "")
    second = cli(*SMALL, "--parts", "real,simulated", "-o", folder, "--resume")
    assert second.status == 0, second.err
    after = (folder / "validation.jsonl").read_text().splitlines()
    assert after[:6] == runs
    # The process, and a simulation of each.
    assert len(after) == 9
    assert "single-lock" in second.out


def test_bad_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    cli(*SMALL, "--parts", "rel", "-o", folder).refuses("'rel'", "speed")
    cli(*SMALL, "--workloads", "sleep-period", "-o", folder).refuses("sleep-period")
    cli(*SMALL, "--resume", "-o", folder).refuses("no validation", "--resume")
    assert not folder.exists()
    assert cli(*SMALL, "--parts", "real", "-o", folder).status == 0
    cli(*SMALL, "--parts", "real", "-o", folder).refuses("there is a validation")
    longer = ("--seconds", "0.06")
    cli(*SMALL, *longer, "--parts", "real", "-o", folder, "--resume").refuses("--seconds 0.05")


def test_a_machine_is_measured_into_a_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    result = cli("calibrate", "--machine", path, "--runs", "1")
    assert result.status == 0, result.err
    assert machine.load(str(path)).sources["rmw"].startswith("measured")
    assert not (tmp_path / "config").exists()
    cli("calibrate", "--machine", path, "--output", path).refuses("--output")
    cli("calibrate", "--machine", "/nonexistent/m.toml").refuses("/nonexistent/m.toml")
