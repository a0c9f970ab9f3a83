"""Mutexes that are held for long while the holder sleeps, or as a gate: no lock is advised."""

import io
from pathlib import Path

import pytest
from lockwright.advise import advise, brief
from lockwright.base import terminal
from lockwright.export import page
from lockwright.profile import long_holds, summary
from lockwright.profile.long_holds import GATE, SLEPT
from support import locate, profiling, tiers
from support.html import Page

pytestmark = locate.native


SHORT = [
    ("sleep", "journal", SLEPT),
    ("gate", "entrance", GATE),
    ("seldom_gate", "entrance", GATE),
    ("seldom_work", "entrance", None),
    ("compute", "journal", None),
    ("nest", "outer", None),
]
OTHERS = [
    ("read", "journal", SLEPT),
    ("sleep_seldom", "journal", SLEPT),
    ("busy_gate", "entrance", GATE),
    ("closed_gate", "entrance", GATE),
    ("compute_in_a_crowd", "journal", None),
]


@pytest.mark.alone("other load keeps holders from running as long as a gate is closed")
@pytest.mark.parametrize(
    ("case", "name", "reason"), tiers.short([*SHORT, *OTHERS], SHORT, "as another of its reason")
)
def test_why_threads_wait(case: str, name: str, reason: str | None, tmp_path: Path) -> None:
    """In up to three runs: other programs may disturb one."""
    for attempts_left in (2, 1, 0):
        try:
            examine(case, name, reason, tmp_path)
            return
        except AssertionError:
            if not attempts_left:
                raise


def examine(case: str, name: str, reason: str | None, tmp_path: Path) -> None:
    """Profile the program, and compare what is said of a mutex."""
    profile, answer = profiling.profile(tmp_path, locate.program("profile", "long_holds"), case)
    (index,) = (i for i, mutex in enumerate(profile.mutexes) if mutex.name.endswith(f"::{name}"))
    assert long_holds.reason(profile, index) == reason, profile.mutexes[index]
    if reason is None:
        assert "No lock helps" not in answer.stderr
        return
    advice = advise(profile)
    assert not advice.shortlist
    assert not advice.fired
    assert [change.kind for change in advice.changes] == [
        {SLEPT: "sleep outside", GATE: "gate"}[reason]
    ]
    stream = io.StringIO()
    brief.show(terminal.secondary(stream), profile, advice, tmp_path / "profile.json")
    for text in (
        answer.stderr,
        " ".join(stream.getvalue().split()),
        Page(page.render(profile)).words,
    ):
        assert long_holds.sentence(profile, index) in text
    assert f"of it {'at gates' if reason == GATE else 'while holders slept'}" in (
        summary.sentence(profile)
    )
