"""`lockwright bench what-if` of one program."""

import json
from pathlib import Path

import pytest
from support import locate

from .conftest import Cli


@locate.native
@pytest.mark.full("profiles, experiments and simulations, each of which has tests")
def test_a_program_is_compared(cli: Cli, tmp_path: Path) -> None:
    built = locate.program("speedup", "sections").parent.parent
    words = ("--programs", "pipeline", "--lengths", "1", "--bottlenecks", built)
    runs = ("--experiment-seconds", "4", "--runs", "2", "--most-runs", "2", "--seconds", "0.1")
    done = cli(
        "bench", "what-if", *words, *runs, "--output-dir", tmp_path, "--json", tmp_path / "f"
    )
    assert done.status == 0, done.err
    assert "pipeline, length 1" in done.out
    assert "Of 3 changes, experiments within 10 %" in " ".join(done.out.split())
    known = json.loads((tmp_path / "f").read_text())
    # Its mutex cannot be split, which is tried once.
    assert len(known["runs"]) == 4 * 2 + 1


@locate.native
@pytest.mark.full("profiles, experiments and runs of a real program, each of which has tests")
def test_a_real_program_is_compared(cli: Cli, tmp_path: Path) -> None:
    done = cli("bench", "what-if", "--real", "kyoto-cache", "--runs", "2", "--output-dir", tmp_path)
    assert "kyoto-cache, 1,000 buckets to 200,000" in done.out
    assert "changes of 1 programs, experiments within 1.25 times" in " ".join(done.out.split())
    assert done.status == 0, done.err
