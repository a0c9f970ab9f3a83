"""The comparison of docs/experiments.md, without the command line."""

import re
from pathlib import Path

import pytest

from .conftest import Program


def test_the_example_of_the_page_runs(
    program: Program,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (Path(__file__).parents[2] / "docs/experiments.md").read_text()
    example = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    monkeypatch.setenv("XDG_STATE_HOME", environment["XDG_STATE_HOME"])
    code = example.replace("./my-program", str(program("worker")))
    exec(compile(code, "docs/experiments.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(("thread", "threads"))] == [
        "1 thread",
        "2 threads",
    ]
    names = [line.partition(":")[0] for line in lines[2:5]]
    assert sorted(names) == ["mcs-stp", "pthread", "ttas"]
