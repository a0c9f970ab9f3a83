"""`lockwright bench mixed` and `bench plan`, which use the library of all locks."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.experiment import TIMEOUT, Run, Runs
from lockwright.experiment.model import Slot
from lockwright.run.bench_program import Subject
from lockwright_lab.bench import quiet_and_hot
from lockwright_lab.bench.runs import Common
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


def library_of(details: dict[str, Any]) -> str:
    """Return the library that the measuring program reports."""
    return Path(measured(details)["mutex"]).name


def measured(details: dict[str, Any]) -> dict[str, Any]:
    """Return the line with the figures of one of a pair of runs."""
    line: dict[str, Any] = next(line for line in details["lines"] if line["kind"] == "measured")
    return line


def test_mixed_compares_the_two_libraries(document: Any) -> None:
    """Each lock runs in both libraries, and each round with both runs gives a ratio."""
    locks = ["pthread", "ttas", "mcs-stp"]
    found = document(
        "mixed", "--locks", ",".join(locks), "--runs", "2", "--seconds", "0.05",
        "--settings", "empty,short-short",
    )  # fmt: skip
    for run in found["runs"]:
        assert library_of(run["mixed"]) == "liblockwright-mixed.so"
        assert library_of(run["own"]) == f"liblockwright-{run['lock']}.so"
    assert [(row["setting"], row["lock"]) for row in found["summaries"]] == [
        (setting, lock) for setting in ("empty", "short-short") for lock in locks
    ]
    # Threads may get no processor in a short run on a busy machine.
    rounds = Counter(
        (run["setting"], run["lock"])
        for run in found["runs"]
        if all(measured(run[form])["operations_per_second"] for form in ("own", "mixed"))
    )
    for row in found["summaries"]:
        assert row["figures"]["ratio"]["count"] == rounds[row["setting"], row["lock"]] > 0
        assert (row["table"]["ns more"] != "-") == (row["setting"] == "empty")


def test_the_plan_is_one_of_the_rows(document: Any) -> None:
    """It has figures for each phase, runs beside each lock, and needs memory as its locks do."""
    large = "hmcs" if "hmcs" in locate.lock_names() else "mcs-stp"
    words = ["--quiet", "ttas", "--crowd", "pthread", "--exchange", "ttas", "--runs", "2"]
    work = ["--work", "1", "--mutexes", "1000", "--threads-per-core", "1", "--times", "2000"]
    locks = list(dict.fromkeys(["pthread", "ttas", "mcs-stp", large]))
    found = document("plan", "--locks", ",".join(locks), *words, *work)
    rows = {row["lock"]: row for row in found["summaries"]}
    assert set(rows) == {*locks, "plan"}
    for row in rows.values():
        figures = row["figures"]
        phases = sum(
            figures[f"{name}_seconds"]["median"] for name in ("quiet", "crowd", "exchange")
        )
        assert figures["seconds"]["count"] == figures["to_plan"]["count"] == 2
        assert 0 < phases < 2 * figures["seconds"]["high"]
        assert figures["start_bytes"]["median"] > 0
    assert {library_of(run["beside"]) for run in found["runs"]} == {"liblockwright-mixed.so"}
    taken = {name: row["figures"]["taken_bytes"]["median"] for name, row in rows.items()}
    assert taken["plan"] == taken["ttas"] == taken["pthread"] == 0
    assert taken["mcs-stp"] > 0  # nodes
    if large == "hmcs":
        assert taken[large] >= 1000 * 64


def test_locks_that_do_not_end_are_dropped(document: Any) -> None:
    """They are dropped after two rounds; the plan still runs beside the others."""
    found = document("plan", "--locks", "ttas", "--runs", "3", "--timeout", "0.001", "--work", "1")
    assert [run["lock"] for run in found["runs"]].count("ttas") == 2


def runs_of(lock: str, seconds: float | None, kib: float, taken: float) -> Iterator[Run]:
    """Yield three runs. seconds: of each, also relative to the plan's; None if they do not end."""
    figures = {"start_bytes": 1024 * kib, "grown_bytes": 0.0, "taken_bytes": taken}
    for number in (1, 2, 3):
        slot = Slot("", lock, number)
        if seconds is None:
            yield Run(TIMEOUT, slot=slot)
            continue
        # The rounds of a differ by more than the plan is faster.
        factor = {2: 0.5, 3: 2.0}.get(number, 1.0) if lock == "a" else 1 + number / 1000
        own = {"seconds": seconds * factor, "plan_seconds": 1.0, "to_plan": seconds * factor}
        yield Run(slot=slot, figures=figures | own)


def test_remarks_on_a_comparison() -> None:
    """A lock that did not end counts as slower than the plan, and not in memory."""
    made = Runs()
    for each in (
        *(("plan", 1.0, 8, 0), ("a", 1.25, 8, 64), ("b", 3.0, 4, 0)),
        *(("c", 0.5, 12, 0), ("d", None, 0, 0)),
    ):
        for run in runs_of(*each):
            made.add(run)
    chosen = [Subject(name) for name in "abcd"]
    measurement = quiet_and_hot.QUIET_AND_HOT
    options = {name: each.default for name, each in measurement.file.options.items()}
    given = replace(
        measurement.given(Common([Subject("ttas")], 3, 5.0), options), common=Common(chosen, 3, 5.0)
    )
    experiment = measurement.experiment(given)
    message = experiment.remarks(experiment.summaries(made))
    assert message == [
        "The best single lock is c: it takes 0.501 times as long as the plan, "
        "95 % interval 0.500 to 0.502.",
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
