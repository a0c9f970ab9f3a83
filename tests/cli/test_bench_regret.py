"""`lockwright bench regret` as a user runs it: files, resuming, and what it refuses."""

import csv
import json
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
        (["--resume"], ["--resume keeps the options"]),
        (["--lock", "null", "--ablate"], ["can be switched off"]),
    ],
)
def test_bad_input(cli: Any, tmp_path: Path, words: list[str], parts: list[str]) -> None:
    """One line that says what is wrong, before anything is run."""
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
