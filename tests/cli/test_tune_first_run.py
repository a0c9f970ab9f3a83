"""Tests of the first run: what `lockwright tune` profiles is what it races with afterwards."""

from collections.abc import Sequence
from typing import Any, NoReturn

import pytest
from lockwright.compare.plan import Plan
from lockwright.tune import first_run


class Asked(Exception):
    """Ends the first run before it begins."""


class Runner:
    """Stands in for what makes runs."""

    def run_through(self, _threads: int, words: Sequence[str]) -> NoReturn:
        raise Asked(*words)


def words(monkeypatch: pytest.MonkeyPatch, way: str) -> tuple[Any, ...]:
    """Those that are put before the program's own."""
    monkeypatch.setenv("LOCKWRIGHT_RWLOCK", way)
    plan = Plan(("true",), ("pthread",), (0,), 1, 0, None, "s", True, 9, None)
    with pytest.raises(Asked) as asked:
        first_run.profile_first_run(plan, Runner())  # type: ignore[arg-type]
    return asked.value.args


def test_reader_writer_locks_are_what_they_are_in_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    assert words(monkeypatch, "mutex")[-3:] == ("--rwlock", "mutex", "--")


@pytest.mark.parametrize("way", ["", "keep", "phase-fair"])
def test_else_they_are_counted(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    assert "--rwlock" not in words(monkeypatch, way)
