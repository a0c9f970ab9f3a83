"""`lockwright bench regret` as a user runs it: files, resuming, and what it refuses."""

import csv
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

CELLS = "single/100ns/10x/2,queue/1/2,trylock/100ns/*,step/100ns-100us/*"


def quick(where: Path, *more: str) -> list[str]:
    return [
        *("bench", "regret", "--lock", "futex", "--against", "ttas", "--seconds", "0.02"),
        *("--runs", "2", "-o", str(where), *more),
    ]


def made(where: Path) -> list[dict[str, Any]]:
    """The runs in the file, less a line that was cut off."""
    lines = (where / "runs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if '"cell"' in line and line.endswith("}")]


def test_files_and_resuming(cli: Any, tmp_path: Path) -> None:
    """A run for each cell, lock and round; those of a file that was cut off are made again."""
    where = tmp_path / "grid"
    done = cli(*quick(where, "--cells", CELLS))
    assert done.status == 0, done.err
    assert "Regret of futex" in done.out
    runs = made(where)
    cells = {run["cell"] for run in runs}
    assert len(runs) == len(cells) * 3 * 2
    assert {run["contender"] for run in runs} == {"futex", "pthread", "ttas"}
    assert all(run["samples"] for run in runs if run["cell"].startswith("step/"))
    document = json.loads((where / "regret.json").read_text())
    assert document["complete"]
    assert not document["simulated"]
    assert {row["cell"] for row in document["cells"]} == cells
    with (where / "figures.csv").open() as file:
        assert [row["cell"] for row in csv.DictReader(file)] == [
            row["cell"] for row in document["cells"]
        ]
    picture, _, _ = (where / "report.html").read_text().partition("<script>")
    assert picture.count("<rect") == len(cells)

    cli(*quick(where)).refuses("there is a grid in", "--resume")
    lines = (where / "runs.jsonl").read_text().splitlines()
    (where / "runs.jsonl").write_text("\n".join(lines[:-3]) + '\n{"cell": "sing')
    done = cli("bench", "regret", "--resume", "-o", where)
    assert done.status == 0, done.err
    again = {(run["cell"], run["contender"], run["round"]) for run in made(where)}
    assert again == {(run["cell"], run["contender"], run["round"]) for run in runs}
    assert len(made(where)) == len(runs)

    done = cli("bench", "regret", "--resume", "-o", where, "--runs", "3")
    assert done.status == 0, done.err
    # Locks far behind are left out of the third round.
    assert len(runs) + 2 * len(cells) <= len(made(where)) <= len(runs) + 3 * len(cells)


def test_mechanisms_are_switched_off_in_turn(cli: Any, tmp_path: Path) -> None:
    where = tmp_path / "grid"
    words = ["bench", "regret", "--lock", "lifo-cr", "--ablate", "--seconds", "0.02"]
    done = cli(*words, "--runs", "2", "--cells", "single/100ns/10x/2", "-o", where)
    assert done.status == 0, done.err
    names = {run["contender"] for run in made(where)}
    assert names == {"lifo-cr", "pthread", "lifo-cr without fairness", "lifo-cr without spin-ns"}
    assert set(json.loads((where / "regret.json").read_text())["ablation"]) == {
        "fairness",
        "spin-ns",
    }
    assert "mechanism" in done.out


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
    """The line says what is wrong before anything is run."""
    cli(*quick(tmp_path / "grid", *words)).refuses(*parts)
    assert not (tmp_path / "grid" / "runs.jsonl").exists()


def test_resuming_nothing(cli: Any, tmp_path: Path) -> None:
    cli("bench", "regret", "--resume").refuses("--resume needs the directory")
    cli("bench", "regret", "--resume", "-o", tmp_path).refuses("there is no grid in")
    (tmp_path / "runs.jsonl").write_text("[]\n")
    cli("bench", "regret", "--resume", "-o", tmp_path).refuses("there is no grid in")


def test_help_defines_every_column(cli: Any) -> None:
    done = cli("bench", "regret", "--help")
    assert done.status == 0
    for word in ("regret:", "longest wait:", "settled:", "--ablate", "--resume"):
        assert word in done.out


def test_a_simulated_machine(cli: Any, tmp_path: Path) -> None:
    """The cells that the simulator can express; the others are named, and all is marked."""
    where = tmp_path / "grid"
    words = ["--machine", "i-48", "--seconds", "0.001", "--cells", "single/100ns/*/2,hog"]
    done = cli(*quick(where, *words))
    assert done.status == 0, done.err
    assert "simulated" in done.out.splitlines()[0]
    assert "None was measured" in done.out
    assert "exponential gaps, hog" in done.out
    document = json.loads((where / "regret.json").read_text())
    assert document["simulated"]
    assert {row["cell"] for row in document["cells"]} == {
        f"single/100ns/{gap}/2" for gap in ("none", "1x", "10x")
    }
    assert {row["simulated"] for row in document["cells"]} == {1}


def test_an_interrupt_keeps_the_runs(command: list[str], tmp_path: Path) -> None:
    """The files are of what was measured by then, and the line that resumes it works."""
    where = tmp_path / "grid"
    words = quick(where, "--cells", "single/100ns/*/2", "--runs", "9999")
    process = subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    file = where / "runs.jsonl"
    while not (file.exists() and file.read_text().count('"cell"') > 12):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert f"bench regret --resume -o {where}" in out
    assert not json.loads((where / "regret.json").read_text())["complete"]
    assert (where / "report.html").exists()
