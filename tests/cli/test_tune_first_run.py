"""The first run of `lockwright tune`, the profiled one, has the settings of the race."""

from collections.abc import Sequence
from typing import Any, NoReturn

import pytest
from lockwright.compare.plan import Plan
from lockwright.tune import first_run


class Stopped(Exception):
    """The end of the first run before it begins."""


class Runner:
    """A runner that makes no run."""

    def run_through(self, _threads: int, words: Sequence[str]) -> NoReturn:
        raise Stopped(*words)


def words(monkeypatch: pytest.MonkeyPatch, value: str) -> tuple[Any, ...]:
    """Return the words before those of the program."""
    monkeypatch.setenv("LOCKWRIGHT_RWLOCK", value)
    plan = Plan(("true",), ("pthread",), (0,), 1, 0, None, "s", True, 9, None)
    with pytest.raises(Stopped) as stopped:
        first_run.profile_first_run(plan, Runner())  # type: ignore[arg-type]
    return stopped.value.args


def test_reader_writer_locks_are_those_of_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    assert words(monkeypatch, "mutex")[-3:] == ("--rwlock", "mutex", "--")


@pytest.mark.parametrize("value", ["", "keep", "phase-fair"])
def test_other_reader_writer_locks_are_not_replaced(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    assert "--rwlock" not in words(monkeypatch, value)
