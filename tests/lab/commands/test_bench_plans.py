"""`lockwright bench mixed` and `bench plan`, which use the library of all locks."""

import json
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


def test_locks_that_do_not_end_are_dropped(document: Any) -> None:
    """They are dropped after two rounds; the plan still runs beside the others."""
    words = ["--runs", "3", "--timeout", "0.001", "--work", "1"]
    found = document("plan", "--locks", "ttas", *words)
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
    """A lock that did not end counts as slower than the plan."""
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
    ]
