"""`lockwright bench regret`: files, resuming, and bad input."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

CELLS = "single/100ns/10x/2,queue/1/2,pipeline/100/3,pool/1us/*,trylock/100ns/*,step/100ns-100us/*"


def quick(*options: str) -> list[str]:
    return [
        *("bench", "regret", "--lock", "futex", "--locks", "ttas", "--seconds", "0.02"),
        *("--runs", "2", *options),
    ]


def document(cli: Any, tmp_path: Path, *words: str) -> tuple[Any, dict[str, Any]]:
    """Return the result of a command, and its JSON document."""
    file = tmp_path / "regret.json"
    result = cli(*words, "--json", file)
    assert result.status == 0, result.err
    return result, json.loads(file.read_text())


def test_files(cli: Any, tmp_path: Path) -> None:
    """Each cell, lock and round has a run, and the files have a line for each cell."""
    figures, page = tmp_path / "figures.csv", tmp_path / "regret.html"
    result, found = document(
        cli, tmp_path, *quick("--cells", CELLS), "--csv", str(figures), "--html", str(page)
    )
    assert "Regret of futex" in result.out
    shares = result.out.partition("With each other lock as the one under test")[2]
    assert {"pthread", "ttas"} <= set(shares.split())
    runs = found["runs"]
    cells = {run["cell"] for run in runs}
    assert len(runs) == len(cells) * 3 * 2
    assert {run["lock"] for run in runs} == {"futex", "pthread", "ttas"}
    assert all(run["samples"] for run in runs if run["cell"].startswith("step/"))
    assert not found["simulated"]
    assert {row["cell"] for row in found["cells"]} == cells
    with figures.open() as file:
        assert [row["cell"] for row in csv.DictReader(file)] == [
            row["cell"] for row in found["cells"]
        ]
    assert "All cells" in page.read_text()


def test_mechanisms_are_switched_off_one_by_one(cli: Any, tmp_path: Path) -> None:
    words = ["bench", "regret", "--lock", "lifo-cr", "--ablate", "--seconds", "0.02"]
    result, found = document(cli, tmp_path, *words, "--runs", "2", "--cells", "single/100ns/10x/2")
    names = {run["lock"] for run in found["runs"]}
    assert names == {"lifo-cr", "pthread", "lifo-cr without fairness", "lifo-cr without spin-ns"}
    assert set(found["ablation"]) == {"fairness", "spin-ns"}
    assert "mechanism" in result.out


@pytest.mark.parametrize("machine", [[], ["--machine", "i-48"]], ids=["here", "simulated"])
def test_a_reader_writer_lock_runs_beside_the_others(
    cli: Any, tmp_path: Path, machine: list[str]
) -> None:
    """Its cells are those of readers and writers, and the baseline is the C library's."""
    words = ["bench", "regret", "--lock", "adaptive-rw", "--locks", "futex-rw", *machine]
    cells = "readers/50/short/1,readers/90/short/burst/*"
    words += ["--runs", "2", "--seconds", "0.02", "--cells", cells]
    _, found = document(cli, tmp_path, *words)
    assert {run["lock"] for run in found["runs"]} == {"adaptive-rw", "futex-rw", "pthread"}
    assert {row["load"] for row in found["cells"]} == {"readers/50/short", "readers/90/short/burst"}
    # On a busy machine a single run may be without a section.
    for lock in ("adaptive-rw", "futex-rw", "pthread"):
        assert max(run["rate"] for run in found["runs"] if run["lock"] == lock) > 0


def test_a_simulated_machine(cli: Any, tmp_path: Path) -> None:
    """Cells that the simulator cannot express are named; all output is marked as simulated."""
    words = ["--machine", "i-48", "--seconds", "0.001", "--cells", "single/100ns/*/2,hog"]
    result, found = document(cli, tmp_path, *quick(*words))
    assert "simulated" in result.out.splitlines()[0]
    assert "None was measured" in result.out
    assert "exponential gaps, hog" in result.out
    assert found["simulated"]
    assert {row["cell"] for row in found["cells"]} == {
        f"single/100ns/{gap}/2" for gap in ("none", "1x", "10x")
    }
    assert {row["simulated"] for row in found["cells"]} == {1}
    # Two threads that poll use two processors.
    assert max(run["processors"] for run in found["runs"]) == pytest.approx(2, rel=0.01)
