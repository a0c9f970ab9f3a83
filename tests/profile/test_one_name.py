"""A mutex that an inlined function takes has the same name everywhere, and plans accept it."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from lockwright.profile import record
from support import locate
from support.processes import captured

pytestmark = locate.native

FUNCTION = "shard::get"
NAME = f"lock taken in {FUNCTION}"


def program() -> Path:
    return locate.program("profile", "inlined")


def ran(words: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run the command, with a program that reads no input."""
    return captured([locate.lockwright(), *words], timeout=60, stdin=subprocess.DEVNULL)


def test_profile(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    answer = ran(["profile", "-o", path, "--", program()])
    assert answer.returncode == 0, answer.stderr
    assert {mutex.name for mutex in record.read(path).mutexes} == {NAME, f"{NAME} #1"}


def test_top(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words: list[str | Path] = ["top", "--interval", "0.2", "-o", log, "--", program()]
    lines = ran(words).stdout.splitlines()
    named = [line for line in lines if "; lock taken in" in line]
    assert named
    for line in named:
        assert f"; {NAME} " in line
        assert "::work" not in line
    assert any(f"held at {FUNCTION}" in line for line in named)


def test_metrics() -> None:
    words: list[str | Path] = [
        locate.lockwright(),
        "run",
        "--metrics",
        "--lock",
        "futex",
        "--",
        program(),
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        pid = run.stdout.readline().strip()
        page = ran(["metrics", "--pid", pid]).stdout
        run.stdin.close()
    assert f'site="{FUNCTION}"' in page
    assert "::work" not in page


@pytest.mark.parametrize(
    ("site", "count"),
    [
        (FUNCTION, 2),
        (NAME, 2),
        (f"{NAME} #1", 1),
        (f"locks first taken in {FUNCTION}", 2),
    ],
)
def test_plan(site: str, count: int, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'[[mutex]]\nsite = "{site}"\nlock = "futex"\n')
    words: list[str | Path] = ["run", "--plan", plan, "--stats", "--", program()]
    answer = ran(words)
    assert answer.returncode == 0, answer.stderr
    (line,) = (line for line in answer.stderr.splitlines() if line.endswith(f"  site {site}"))
    assert line.split()[:2] == ["futex", str(count)]


def test_plan_with_the_site_of_a_table(tmp_path: Path) -> None:
    """The tables name a site with its line."""
    path = tmp_path / "profile.json"
    ran(["profile", "-o", path, "--", program()])
    label = record.read(path).mutexes[0].sites[0].label
    assert label.startswith(f"{FUNCTION} (inlined.cpp:")
    test_plan(label, 2, tmp_path)


@pytest.mark.parametrize(
    ("site", "answer"),
    [
        ("lock taken in shard::gets", "inlined has no function 'shard::gets'"),
        ("push (via take)", "behind a function that takes mutexes for its callers"),
    ],
)
def test_refused_plans(site: str, answer: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'[[mutex]]\nsite = "{site}"\nlock = "futex"\n')
    refused = ran(["run", "--plan", plan, "--", program()])
    assert refused.returncode == 2
    assert answer in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
