"""Lines of progress without a terminal."""

from types import SimpleNamespace

import pytest
from lockwright.base.progress import LINES_APART, Display


def test_lines_are_some_seconds_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Short rounds would fill the log; the first is printed at once, and none twice."""
    now = 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("lockwright.base.progress.time", clock)
    with Display(100, 0) as display:
        for step in range(35):
            display.announce("", f"round {step}", 90.0)
            display.announce("", f"round {step}", 90.0)
            now += LINES_APART / 10
        for _ in range(35):
            display.announce("", "the last round", 90.0)
            now += LINES_APART / 10
    assert capsys.readouterr().err.splitlines() == [
        f"lockwright: {text}, about 2 min left"
        for text in ("round 0", "round 10", "round 20", "round 30", "the last round")
    ]
