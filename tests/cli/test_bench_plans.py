"""`lockwright bench mixed` and `bench plan`: the library of all locks serves the calls, and the
figures are of the right mutexes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import locate

from .conftest import Cli


@pytest.fixture
def document(cli: Cli, tmp_path: Path) -> Any:
    """Runs a benchmark and returns the JSON document that it wrote."""

    def run(*words: str) -> dict[str, Any]:
        written = tmp_path / "result.json"
        done = cli("bench", *words, "--json", written)
        assert done.status == 0, done.out + done.err
        found: dict[str, Any] = json.loads(written.read_text())
        return found

    return run


def served(run: dict[str, Any]) -> str:
    """The library that the measuring program says it was served by."""
    line = next(line for line in run["lines"] if line["kind"] == "measured")
    return Path(line["mutex"]).name


def test_mixed_compares_the_two_libraries(document: Any) -> None:
    """Each lock in both, the C library's own among them, and a ratio in each setting."""
    locks = ["pthread", "ttas", "mcs-stp"]
    found = document(
        "mixed", "--locks", ",".join(locks), "--rounds", "2", "--seconds", "0.01",
        "--settings", "empty,short-short",
    )  # fmt: skip
    for run in found["runs"]:
        own = f"liblockwright-{run['lock']}.so"
        assert served(run) == ("liblockwright-mixed.so" if run["form"] == "mixed" else own)
    assert [(row["setting"], row["lock"]) for row in found["rows"]] == [
        (setting, lock) for setting in ("empty", "short-short") for lock in locks
    ]
    assert all(row["ratio"]["count"] == 2 for row in found["rows"])
    assert all(row["ns_more"] is not None for row in found["rows"] if row["setting"] == "empty")


def test_the_plan_is_one_of_the_rows(document: Any) -> None:
    """It has figures for each phase, and those of memory tell it from a lock with much state."""
    large = "hmcs" if "hmcs" in locate.lock_names() else "ttas"
    words = ["--quiet", "ttas", "--crowd", "mcs-stp", "--exchange", "mcs-stp", "--rounds", "1"]
    work = ["--work", "1", "--mutexes", "1000", "--threads-per-core", "1", "--items", "2000"]
    found = document("plan", "--locks", f"pthread,{large}", *words, *work)
    rows = {row["lock"]: row for row in found["rows"]}
    assert set(rows) == {"pthread", large, "plan"}
    for row in rows.values():
        phases = sum(row[name]["median"] for name in ("quiet", "crowd", "exchange"))
        assert phases == pytest.approx(row["seconds"]["median"], rel=0.01)
    assert {served(run) for run in found["runs"] if run["lock"] == "plan"} == {
        "liblockwright-mixed.so"
    }
    assert rows["plan"]["ratio"]["median"] == 1
    outside = rows[large]["bytes_per_mutex_outside"]
    grown = {name: row["grown_bytes"]["median"] for name, row in rows.items()}
    assert grown[large] - grown["plan"] >= 1000 * min(outside, 64) / 2 or outside == 0


def test_what_cannot_be_measured_is_refused(cli: Cli) -> None:
    """Locks that are none, and settings that there are not."""
    cli("bench", "mixed", "--locks", "null").refuses("'null' is no lock of a plan")
    cli("bench", "mixed", "--settings", "busy").refuses("'busy' is no setting")
    cli("bench", "plan", "--quiet", "tta").refuses("'tta'", "did you mean 'ttas'?")
