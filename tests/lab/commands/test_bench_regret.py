"""`lockwright bench regret`: files, resuming, and bad input."""

import csv
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

CELLS = "single/100ns/10x/2,queue/1/2,trylock/100ns/*,step/100ns-100us/*"


def quick(folder: Path, *options: str) -> list[str]:
    return [
        *("bench", "regret", "--lock", "futex", "--against", "ttas", "--seconds", "0.02"),
        *("--runs", "2", "-o", str(folder), *options),
    ]


def stored_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the runs in the file, without an incomplete line."""
    lines = (folder / "runs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if '"cell"' in line and line.endswith("}")]


def test_files_and_resuming(cli: Any, tmp_path: Path) -> None:
    """Each cell, lock and round has a run; those missing from the file are repeated."""
    folder = tmp_path / "grid"
    result = cli(*quick(folder, "--cells", CELLS))
    assert result.status == 0, result.err
    assert "Regret of futex" in result.out
    runs = stored_runs(folder)
    cells = {run["cell"] for run in runs}
    assert len(runs) == len(cells) * 3 * 2
    assert {run["contender"] for run in runs} == {"futex", "pthread", "ttas"}
    assert all(run["samples"] for run in runs if run["cell"].startswith("step/"))
    document = json.loads((folder / "regret.json").read_text())
    assert document["complete"]
    assert not document["simulated"]
    assert {row["cell"] for row in document["cells"]} == cells
    with (folder / "figures.csv").open() as file:
        assert [row["cell"] for row in csv.DictReader(file)] == [
            row["cell"] for row in document["cells"]
        ]
    picture, _, _ = (folder / "report.html").read_text().partition("<script>")
    assert picture.count("<rect") == len(cells)

    cli(*quick(folder)).refuses("there is a grid in", "--resume")
    lines = (folder / "runs.jsonl").read_text().splitlines()
    (folder / "runs.jsonl").write_text("\n".join(lines[:-3]) + '\n{"cell": "sing')
    result = cli("bench", "regret", "--resume", "-o", folder)
    assert result.status == 0, result.err
    again = {(run["cell"], run["contender"], run["round"]) for run in stored_runs(folder)}
    assert again == {(run["cell"], run["contender"], run["round"]) for run in runs}
    assert len(stored_runs(folder)) == len(runs)

    result = cli("bench", "regret", "--resume", "-o", folder, "--runs", "3")
    assert result.status == 0, result.err
    # Locks far behind are left out of the third round.
    assert len(runs) + 2 * len(cells) <= len(stored_runs(folder)) <= len(runs) + 3 * len(cells)


def test_mechanisms_are_switched_off_one_by_one(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "grid"
    words = ["bench", "regret", "--lock", "lifo-cr", "--ablate", "--seconds", "0.02"]
    result = cli(*words, "--runs", "2", "--cells", "single/100ns/10x/2", "-o", folder)
    assert result.status == 0, result.err
    names = {run["contender"] for run in stored_runs(folder)}
    assert names == {"lifo-cr", "pthread", "lifo-cr without fairness", "lifo-cr without spin-ns"}
    assert set(json.loads((folder / "regret.json").read_text())["ablation"]) == {
        "fairness",
        "spin-ns",
    }
    assert "mechanism" in result.out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--lock", "no-such"], ["no-such"]),
        (["--lock", "all"], ["'all' is not one lock"]),
        (["--against", "no-such"], ["no-such"]),
        (["--cells", "no/such"], ["no cell matches 'no/such'", "families"]),
        (["--runs", "1"], ["--runs"]),
        (["--seconds", "0"], ["--seconds"]),
        (["--longest-wait", "0"], ["--longest-wait"]),
        (["--machine", "no-such"], ["no machine is named"]),
        (["--machine", "a-64", "--cells", "hog"], ["none of these cells"]),
        (["--resume"], ["--resume uses the options"]),
        (["--lock", "null", "--ablate"], ["can be switched off"]),
    ],
)
def test_bad_input(cli: Any, tmp_path: Path, words: list[str], parts: list[str]) -> None:
    """Nothing is run before the message."""
    cli(*quick(tmp_path / "grid", *words)).refuses(*parts)
    assert not (tmp_path / "grid" / "runs.jsonl").exists()


def test_resuming_nothing(cli: Any, tmp_path: Path) -> None:
    cli("bench", "regret", "--resume").refuses("--resume needs the directory")
    cli("bench", "regret", "--resume", "-o", tmp_path).refuses("there is no grid in")
    (tmp_path / "runs.jsonl").write_text("[]\n")
    cli("bench", "regret", "--resume", "-o", tmp_path).refuses("there is no grid in")


def test_help_defines_every_column(cli: Any) -> None:
    result = cli("bench", "regret", "--help")
    assert result.status == 0
    for word in ("regret:", "longest wait:", "settled:", "--ablate", "--resume"):
        assert word in result.out


def test_a_simulated_machine(cli: Any, tmp_path: Path) -> None:
    """Cells that the simulator cannot express are named; all output is marked as simulated."""
    folder = tmp_path / "grid"
    words = ["--machine", "i-48", "--seconds", "0.001", "--cells", "single/100ns/*/2,hog"]
    result = cli(*quick(folder, *words))
    assert result.status == 0, result.err
    assert "simulated" in result.out.splitlines()[0]
    assert "None was measured" in result.out
    assert "exponential gaps, hog" in result.out
    document = json.loads((folder / "regret.json").read_text())
    assert document["simulated"]
    assert {row["cell"] for row in document["cells"]} == {
        f"single/100ns/{gap}/2" for gap in ("none", "1x", "10x")
    }
    assert {row["simulated"] for row in document["cells"]} == {1}
    # Two threads that poll use two processors.
    assert max(run["processors"] for run in stored_runs(folder)) == pytest.approx(2, rel=0.01)


def test_an_interrupt_leaves_the_finished_runs(command: list[str], tmp_path: Path) -> None:
    """The files have the runs so far, and the command that resumes is printed."""
    folder = tmp_path / "grid"
    words = quick(folder, "--cells", "single/100ns/*/2", "--runs", "9999")
    process = subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    file = folder / "runs.jsonl"
    while not (file.exists() and file.read_text().count('"cell"') > 12):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert f"bench regret --resume -o {folder}" in out
    assert not json.loads((folder / "regret.json").read_text())["complete"]
    assert (folder / "report.html").exists()
