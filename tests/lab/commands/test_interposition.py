"""`lockwright bench interposition` runs each lock in both forms, and writes the results."""

import json
from pathlib import Path
from typing import Any

LOCKS = ["pthread", "ttas"]
ROUNDS = 5


def quick(*options: str) -> list[str]:
    return ["bench", "interposition", "--seconds", "0.01", "--warm-up", "0", *options]


def rate(run: dict[str, Any]) -> float:
    return float(run["lines"][0]["operations_per_second"])


def test_both_forms_of_each_lock_run_in_pairs(cli: Any, tmp_path: Path) -> None:
    """Each pair of runs is of one lock, with alternating order, and reports its implementation."""
    document, runs_file = tmp_path / "found.json", tmp_path / "runs.csv"
    options = ["--locks", ",".join(LOCKS), "--settings", "empty", "--runs", str(ROUNDS)]
    result = cli(*quick(*options), "--json", document, "--csv", runs_file)
    assert result.status == 0, result.err
    assert "All locks together" in result.out
    found = json.loads(document.read_text())
    assert [(row["setting"], row["lock"]) for row in found["rows"]] == [
        ("empty", lock) for lock in LOCKS
    ]
    (summary,) = found["summary"]
    assert summary["locks"] == summary["within"] + summary["beyond"] + summary["open"]
    runs = found["runs"]
    assert len(runs) == 2 * ROUNDS * len(LOCKS)
    for first, second in zip(runs[::2], runs[1::2], strict=True):
        assert first["lock"] == second["lock"]
        assert (first["form"] == "direct") == (first["round"] % 2 == 0)
        assert first["form"] != second["form"]
    for row in found["rows"]:
        # On a busy machine, a short run may get no processor and make no operation.
        rounds = [
            {r["round"] for r in runs if (r["lock"], r["form"]) == (row["lock"], form) and rate(r)}
            for form in ("direct", "interposed")
        ]
        assert row["rounds"] == len(set.intersection(*rounds))
    implementations = {(r["lock"], r["form"]): Path(r["lines"][0]["mutex"]).name for r in runs}
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


def test_help_defines_every_column(cli: Any) -> None:
    """The help defines the columns of both tables, and every setting with its source."""
    result = cli("bench", "interposition", "--help")
    assert result.status == 0
    for word in ("within 5 %:", "ns more:", "turned round:", "short-short:", "Schuirmann"):
        assert word in result.out
