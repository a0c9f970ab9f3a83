"""`lockwright bench simulator`: real runs, simulations, and what they come to."""

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
    place = tmp_path / "v"
    first = cli(*SMALL, "--parts", "real", "-o", place)
    assert first.status == 0, first.err
    runs = (place / "validation.jsonl").read_text().splitlines()
    # The options, then two rounds of pthread and ttas.
    assert len(runs) == 5
    for line in map(json.loads, runs[1:]):
        # A busy machine may give a thread no time in so short a run.
        assert (line["rate"] > 0) == (line["failure"] == "")
    second = cli(*SMALL, "--parts", "real,simulated", "-o", place, "--resume")
    assert second.status == 0, second.err
    after = (place / "validation.jsonl").read_text().splitlines()
    assert after[:5] == runs
    assert len(after) == 7
    assert "single-lock" in second.out


def test_what_cannot_be_run_is_refused(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "v"
    cli(*SMALL, "--parts", "rel", "-o", place).refuses("'rel'", "speed")
    cli(*SMALL, "--workloads", "sleep-period", "-o", place).refuses("sleep-period")
    cli(*SMALL, "--resume", "-o", place).refuses("no validation", "--resume")
    assert not place.exists()
    assert cli(*SMALL, "--parts", "real", "-o", place).status == 0
    cli(*SMALL, "--parts", "real", "-o", place).refuses("there is a validation")
    longer = ("--seconds", "0.06")
    cli(*SMALL, *longer, "--parts", "real", "-o", place, "--resume").refuses("--seconds 0.05")


def test_a_machine_is_measured_into_a_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    done = cli("calibrate", "--machine", path, "--runs", "1")
    assert done.status == 0, done.err
    assert machine.load(str(path)).sources["rmw"].startswith("measured")
    assert not (tmp_path / "config").exists()
    cli("calibrate", "--machine", path, "--output", path).refuses("--output")
    cli("calibrate", "--machine", "/nonexistent/m.toml").refuses("/nonexistent/m.toml")
