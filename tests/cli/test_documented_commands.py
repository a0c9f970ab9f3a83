"""Every command in README.md and docs/ is run unchanged, or is listed here with the reason."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support import locate, tiers
from support.processes import captured, shell_script

from .conftest import Program

PAGES = [locate.ROOT / "README.md", *sorted((locate.ROOT / "docs").rglob("*.md"))]

#: The beginnings of commands that are not run, and why.
NOT_RUN = {
    "./dev demo": "takes minutes",
    "./dev test": "runs this test",
    "LOCKWRIGHT_ONLY=": "builds files that other tests use",
    "./dev build": "precedes this test, and builds files that other tests use",
    "./dev wheel": "precedes this test",
    "./dev deb": "test_debian_packages.py makes and installs the packages",
    "./dev release": "takes minutes; test_release.py runs it",
    "pip install build/wheel/": "test_wheel.py installs it",
    "./dev sanitize": "takes minutes",
    "./dev model": "takes an hour",
    "./dev mutants": "takes hours",
    "lockwright check": "compiles for a while; test_check.py runs it",
    "export LOCKWRIGHT_LIBDIR=": "test_adding_a_lock.py runs the commands after it",
    "lockwright info my-lock": "likewise",
    "lockwright run --lock my-lock": "likewise",
    "lockwright torture my-lock": "likewise",
    "lockwright bench uncontended --locks my-lock": "likewise",
    "lockwright compare --locks pthread,adaptive --baseline": "status 1 on a busy machine",
    "lockwright torture all": "takes an hour",
    "lockwright bench claims --simulated --seeds 1": "takes minutes",
    "cmake --preset": "takes minutes",
    "cmake --build": "takes minutes",
    "LOCKWRIGHT_LIBDIR=build/release/lib": "needs that build",
    "apt-get install": "changes the system",
    "LD_PRELOAD=liblockwright.so": "needs the package liblockwright0",
    "build/model/": "tests/model runs the model checker",
}


def commands(page: Path) -> list[str]:
    """Return the commands, marked by a dollar sign, of the console blocks of a page."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def is_run(command: str) -> bool:
    return not command.startswith(tuple(NOT_RUN))


def test_each_reason_belongs_to_a_command() -> None:
    """An obsolete reason would exclude a new command with the same beginning."""
    found = [command for page in PAGES for command in commands(page)]
    assert sum(map(is_run, found)) >= 6
    for start in NOT_RUN:
        assert any(command.startswith(start) for command in found), start


RUN = [page for page in PAGES if any(map(is_run, commands(page)))]


def with_others(pages: list[Path]) -> list[Path]:
    """Return the pages with a command that none before them has."""
    seen: set[str] = set()
    found = []
    for page in pages:
        own = set(filter(is_run, commands(page)))
        if not own <= seen:
            found.append(page)
        seen |= own
    return found


#: Their commands run for ten seconds or longer.
LONG = {"predicting.md", "conformance.md", "energy.md"}


@pytest.mark.parametrize(
    "page",
    tiers.short(
        RUN,
        with_others([page for page in RUN if page.parent.name != "lab" and page.name not in LONG]),
        "takes long; of the laboratory, or commands of other pages",
    ),
    ids=lambda page: str(page.relative_to(locate.ROOT)),
)
def test_the_commands_of_a_page_work(page: Path, program: Program, tmp_path: Path) -> None:
    """The commands run one after the other in one shell, in an empty directory."""
    if shutil.which("xz") is None:
        pytest.skip("xz is not installed")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/lockwright").symlink_to(locate.lockwright())
    shell_script(folder / "my-benchmark", f"exec {program('worker')} 2 1000")
    for example in re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        (folder / "example.c").write_text(example)
    python = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "example.py").write_text("\n".join(python))
    lines = [command for command in commands(page) if is_run(command)]
    path = f"{locate.lockwright().parent}:{os.environ['PATH']}"
    env = os.environ | {"XDG_STATE_HOME": str(tmp_path), "PATH": path}
    result = captured(["sh", "-ex", "-c", "\n".join(lines)], cwd=folder, env=env, timeout=240)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
