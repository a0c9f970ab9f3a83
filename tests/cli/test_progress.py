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
        for step in range(100):
            display.announce("", f"round {1 + step // 30}, {'many' if step < 40 else 'few'}", 90.0)
            now += LINES_APART / 10
    assert capsys.readouterr().err.splitlines() == [
        "lockwright: round 1, many, about 2 min left",
        "lockwright: round 2, many, about 2 min left",
        "lockwright: round 2, few, about 2 min left",
        "lockwright: round 3, few, about 2 min left",
        "lockwright: round 4, few, about 2 min left",
    ]
