"""`lockwright bench interposition` runs each lock in both forms, and writes the results."""

import json
from pathlib import Path
from typing import Any

LOCKS = ["pthread", "ttas"]
ROUNDS = 5


def quick(*options: str) -> list[str]:
    return ["bench", "interposition", "--seconds", "0.01", "--warm-up", "0", *options]


def test_both_forms_of_each_lock_run_in_pairs(cli: Any, tmp_path: Path) -> None:
    """Each pair of runs is of one lock, and reports its implementation."""
    document, runs_file = tmp_path / "found.json", tmp_path / "runs.csv"
    options = ["--locks", ",".join(LOCKS), "--settings", "empty", "--runs", str(ROUNDS)]
    result = cli(*quick(*options), "--json", document, "--csv", runs_file)
    assert result.status == 0, result.err
    assert "All locks together" in result.out
    found = json.loads(document.read_text())
    assert [(row["setting"], row["lock"]) for row in found["summaries"]] == [
        ("empty", lock) for lock in LOCKS
    ]
    (summary,) = found["summary"]
    assert summary["locks"] == summary["within"] + summary["beyond"] + summary["open"]
    runs = found["runs"]
    assert len(runs) == ROUNDS * len(LOCKS)
    implementations = {
        (run["lock"], form): Path(run[form]["lines"][0]["mutex"]).name
        for run in runs
        for form in ("direct", "interposed")
    }
    assert implementations == {
        ("pthread", "direct"): "libc.so.6",
        ("pthread", "interposed"): "liblockwright-pthread.so",
        ("ttas", "direct"): "ttas.hpp",
        ("ttas", "interposed"): "liblockwright-ttas.so",
    }
    # A study reads the runs as a validation.
    analysed = cli("study", "analyse", "--show", "all", runs_file)
    assert analysed.status == 0, analysed.err
    assert "interposed" in analysed.out


def test_bad_input(cli: Any, tmp_path: Path) -> None:
    """Nothing is run before the message."""
    cli(*quick("--settings", "full")).refuses("invalid value 'full' for --settings", "short-long")
    cli(*quick("--settings", ",")).refuses("invalid value ',' for --settings")
    cli(*quick("--locks", "no-such")).refuses("no-such")
    cli(*quick("--locks", "libc")).refuses("libc")
    cli(*quick("--locks", "null")).refuses("'null'")
    cli(*quick("--runs", "0")).refuses("--runs")
    cli(*quick("--csv", str(tmp_path / "none" / "runs.csv"))).refuses("none")
