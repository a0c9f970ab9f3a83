"""`lockwright bench mixed` and `bench plan`, which use the library of all locks."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lockwright.calibrate.report import Report
from lockwright.stats.inference import Ratio
from lockwright.stats.spread import Spread
from lockwright_lab.bench import quiet_and_hot
from support import locate

from .conftest import Cli


@pytest.fixture
def document(cli: Cli, tmp_path: Path) -> Any:
    """Return a function that runs a benchmark and returns its JSON document."""

    def run(*words: str) -> dict[str, Any]:
        target = tmp_path / "result.json"
        result = cli("bench", *words, "--json", target)
        assert result.status == 0, result.out + result.err
        found: dict[str, Any] = json.loads(target.read_text())
        return found

    return run


def library_of(run: dict[str, Any]) -> str:
    """Return the library that the measuring program reports."""
    line = next(line for line in run["lines"] if line["kind"] == "measured")
    return Path(line["mutex"]).name


def has_rate(run: dict[str, Any]) -> bool:
    """Return whether its threads had a processor, which a short run on a busy machine may lack."""
    return any(
        line.get("operations_per_second") for line in run["lines"] if line["kind"] == "measured"
    )


def test_mixed_compares_the_two_libraries(document: Any) -> None:
    """Each lock runs in both libraries, and each round with both runs gives a ratio."""
    locks = ["pthread", "ttas", "mcs-stp"]
    found = document(
        "mixed", "--locks", ",".join(locks), "--runs", "2", "--seconds", "0.05",
        "--settings", "empty,short-short",
    )  # fmt: skip
    for run in found["runs"]:
        name = "mixed" if run["form"] == "mixed" else run["lock"]
        assert library_of(run) == f"liblockwright-{name}.so"
    assert [(row["setting"], row["lock"]) for row in found["rows"]] == [
        (setting, lock) for setting in ("empty", "short-short") for lock in locks
    ]
    pairs = Counter(
        (run["setting"], run["lock"], run["round"]) for run in filter(has_rate, found["runs"])
    )
    rounds = Counter((setting, lock) for (setting, lock, _), forms in pairs.items() if forms == 2)
    for row in found["rows"]:
        assert row["ratio"]["count"] == rounds[row["setting"], row["lock"]] > 0
    assert all(row["ns_more"] is not None for row in found["rows"] if row["setting"] == "empty")


def test_the_plan_is_one_of_the_rows(document: Any) -> None:
    """It has figures for each phase, runs beside each lock, and needs memory as its locks do."""
    large = "hmcs" if "hmcs" in locate.lock_names() else "mcs-stp"
    words = ["--quiet", "ttas", "--crowd", "pthread", "--exchange", "ttas", "--runs", "2"]
    work = ["--work", "1", "--mutexes", "1000", "--threads-per-core", "1", "--times", "2000"]
    locks = list(dict.fromkeys(["pthread", "ttas", "mcs-stp", large]))
    found = document("plan", "--locks", ",".join(locks), *words, *work)
    rows = {row["lock"]: row for row in found["rows"]}
    assert set(rows) == {*locks, "plan"}
    for row in rows.values():
        phases = sum(row[name]["median"] for name in ("quiet", "crowd", "exchange"))
        assert row["seconds"]["count"] == (2 * len(locks) if row["lock"] == "plan" else 2)
        if row["lock"] != "plan":
            assert row["ratio"]["rounds"] == row["to_plan"]["count"] == 2
        assert 0 < phases < 2 * row["seconds"]["high"]
        assert row["start_bytes"]["median"] > 0
    assert {library_of(run) for run in found["runs"] if run["lock"] == "plan"} == {
        "liblockwright-mixed.so"
    }
    each = [(run["lock"], run["beside"], run["round"]) for run in found["runs"]]
    assert sorted(each) == sorted(
        pair for lock in locks for n in (0, 1) for pair in ((lock, "plan", n), ("plan", lock, n))
    )
    taken = {name: row["taken_bytes"]["median"] for name, row in rows.items()}
    assert taken["plan"] == taken["ttas"] == taken["pthread"] == 0
    assert taken["mcs-stp"] > 0  # nodes
    if large == "hmcs":
        assert taken[large] >= 1000 * 64


def test_locks_that_do_not_end_are_dropped(document: Any) -> None:
    """They are dropped after two rounds; the plan still runs beside the others."""
    found = document("plan", "--locks", "ttas", "--runs", "3", "--timeout", "0.001", "--work", "1")
    assert [run["lock"] for run in found["runs"]].count("ttas") == 2


def row(lock: str, seconds: float | None, kib: float, taken: float) -> dict[str, object]:
    """Return a row of the table; `seconds` is also its time relative to the plan's."""
    ended = seconds is not None
    spread = None if seconds is None else Spread(seconds, seconds, seconds, 3)
    return {
        "lock": lock,
        "seconds": spread,
        "to_plan": spread if lock != "plan" else None,
        "ratio": Ratio(seconds, 0.9 * seconds, 1.1 * seconds, 0.1, 3, seconds > 2)
        if seconds is not None
        else None,
        "timed_out": 0 if ended else 2,
        "start_bytes": Spread(1024 * kib, 1024 * kib, 1024 * kib, 3) if ended else None,
        "grown_bytes": Spread(0, 0, 0, 3) if ended else None,
        "taken_bytes": Spread(taken, taken, taken, 3) if ended else None,
    }


def test_remarks_on_a_comparison() -> None:
    """A lock that did not end counts as slower than the plan, and not in memory."""
    report = Report("plan", [], {"timeout": 5.0}, [])
    report.rows += [row("plan", 1, 8, 0), row("a", 1.25, 8, 64), row("b", 3, 4, 0)]
    report.rows += [row("c", 0.5, 12, 0), row("d", None, 0, 0)]
    message = quiet_and_hot.remarks(report)
    assert message == [
        "The best single lock is c: it takes 0.500 times as long as the plan, "
        "95 % interval 0.450 to 0.550.",
        "The plan is faster than 3 of 4 single locks, of which 1 did not end in 5.00 s; "
        "for 1 of the other 2 by more than chance explains for one of 3.",
        "Under the plan the process takes 0 bytes for locks outside the mutexes: less than under "
        "1 of the 3 single locks that ended, as much as under 2, more than under none.",
        "Under the plan the process takes 0 KiB in pages that it grows by: less than under 0 of "
        "the 3 single locks that ended, as much as under 3, more than under none.",
        "Under the plan the process takes 8.00 KiB in pages at the start: less than under 1 of "
        "the 3 single locks that ended, as much as under 1, more than under b.",
    ]


def test_bad_input(cli: Cli) -> None:
    cli("bench", "mixed", "--locks", "null").refuses("'null' is not a lock of a plan")
    settings = cli("bench", "mixed", "--settings", "busy")
    settings.refuses("invalid value 'busy' for --settings", "choose from")
    cli("bench", "plan", "--quiet", "tta").refuses("'tta'", "did you mean 'ttas'?")
