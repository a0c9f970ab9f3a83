"""A program that runs for a fixed time, whose wall time says nothing about locks."""

import json
from pathlib import Path

import pytest
from support import tiers

from .conftest import Cli, Program, Result

LOCKS = ["--locks", "pthread,ttas"]


def is_stated(result: Result) -> bool:
    """Return whether the conclusion asks for another figure, and names no lock."""
    assert result.status == 0, result.err
    _, found, last = result.out.rpartition("The program seems to run for a fixed time")
    return bool(found) and "--metric" in last and "ttas" not in last


@pytest.mark.full("takes twenty seconds")
def test_compare_names_no_lock_by_wall_time(cli: Cli, program: Program, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"o.{kind}" for kind in ("html", "json", "markdown")}
    outputs = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    command = ["compare", *LOCKS, "--runs", "2", "--warm-up-runs", "0", *outputs]
    words = ["--", program("timed"), "until"]
    result = cli(*command, *words)
    assert is_stated(result)
    document = json.loads(files["json"].read_text())
    assert document["verdict"]["command"] is None
    assert {(row["mark"], row["ratio"]) for row in document["summaries"]} == {("", None)}
    assert "fixed time" in files["markdown"].read_text()
    page = files["html"].read_text()
    assert "fixed time" in page
    assert 'class="best"' not in page
    # Twice as fast before: still nothing is shown.
    for run in document["runs"]:
        run["value"] /= 2
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(document))
    limited = cli(*command, "--baseline", earlier, "--fail-if-worse", "5%", *words)
    assert limited.status == 0, limited.err
    assert "Wall times show nothing against the baseline" in limited.out


def test_tune_ends_at_once(cli: Cli, program: Program, tmp_path: Path) -> None:
    files = ["--html", tmp_path / "o.html", "--json", tmp_path / "o.json"]
    result = cli("tune", *LOCKS, *files, "--", program("timed"), "until")
    assert is_stated(result)
    assert json.loads((tmp_path / "o.json").read_text())["runs"] == []


@pytest.mark.parametrize("mode", tiers.short(["naps", "later"], ["later"], "the same in the end"))
def test_a_program_that_sleeps_has_no_fixed_time(cli: Cli, program: Program, mode: str) -> None:
    """Its work is the same in each run, though its wall time is, too."""
    result = cli(
        "compare", *LOCKS, "--runs", "1", "--warm-up-runs", "0", "--", program("timed"), mode
    )
    assert result.status == 0, result.err
    assert "fixed time" not in result.out + result.err
