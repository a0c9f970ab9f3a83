"""The steps of the composite action, run by the shell as GitHub would."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import locate
from support.processes import captured

from .conftest import Program

ACTION: dict[str, Any] = yaml.safe_load((locate.ROOT / "action.yml").read_text())
INSTALL, COMPARE = ACTION["runs"]["steps"]
DEFAULTS = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}


def run_step(step: dict[str, Any], folder: Path, **inputs: str) -> tuple[int, str]:
    """Run a step; return its status and output. Of GitHub's expressions, inputs alone are known."""
    values = DEFAULTS | {name.replace("_", "-"): text for name, text in inputs.items()}
    environment = os.environ | {
        name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: values[match[1]], text)
        for name, text in step["env"].items()
    }
    environment |= {
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_PATH": str(folder / "path"),
        "XDG_STATE_HOME": str(folder),
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
    }
    # The command line of `shell: bash`.
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    result = captured(words, cwd=folder, env=environment, timeout=240)
    return result.returncode, result.stdout + result.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a blank in its path, and the command in its bin."""
    place = tmp_path / "a place"
    (place / "bin").mkdir(parents=True)
    (place / "bin/lockwright").symlink_to(locate.lockwright())
    return place


def test_a_program_that_became_slower_fails(folder: Path, program: Program) -> None:
    """The job's page has both summaries, and the second use fails."""
    shutil.copy(program("worker"), folder / "a worker")
    inputs = {"command": "'./a worker' 2 3000", "metric": "rate: ([0-9.]+)", "unit": "ops"}
    inputs |= {"locks": "pthread", "runs": "2"}
    status, out = run_step(COMPARE, folder, json="before.json", **inputs)
    assert status == 0, out
    document = json.loads((folder / "before.json").read_text())
    assert document["plan"]["command"] == ["./a worker", "2", "3000"]
    for run in document["runs"]:
        run["value"] *= 2
    (folder / "before.json").write_text(json.dumps(document))
    status, out = run_step(COMPARE, folder, baseline="before.json", **inputs)
    assert status == 1, out
    status, out = run_step(COMPARE, folder, baseline="missing.json", **inputs)
    assert status == 2, out
    summary = (folder / "summary.md").read_text()
    assert summary.count("### Locks under a worker") == 2
    assert summary.count("**Worse than the baseline by more than 5 %") == 1


def test_inputs_are_not_executed(folder: Path) -> None:
    status, _ = run_step(COMPARE, folder, command="$(touch executed) `touch executed`; touch x")
    assert status == 2
    assert not (folder / "executed").exists()
    assert not (folder / "x").exists()


def test_every_input_reaches_a_step() -> None:
    """Each input is used, by a variable of the environment only."""
    variables = " ".join(text for step in (INSTALL, COMPARE) for text in step["env"].values())
    assert set(re.findall(r"inputs\.([a-z-]+)", variables)) == set(ACTION["inputs"])
    assert not any("${{" in step["run"] for step in (INSTALL, COMPARE))


def test_an_installation_is_used_again(folder: Path) -> None:
    """A second use of the action does not install."""
    step = INSTALL | {"env": {"LW_PACKAGE": "no such package", "LW_FOLDER": str(folder)}}
    status, out = run_step(step, folder)
    assert status == 0, out
    assert (folder / "path").read_text() == f"{folder}/bin\n"
