"""The workflows of GitHub, and the verbs of ./dev that they and the pages name."""

import re
import shutil
import subprocess

import pytest
import yaml
from support import locate

WORKFLOWS = sorted((locate.ROOT / ".github/workflows").glob("*.yml"))
PAGES = [*WORKFLOWS, *locate.ROOT.glob("*.md"), *(locate.ROOT / "docs").glob("*.md")]
VERB = re.compile(r"\./dev ([a-z][a-z0-9-]*)")


def test_every_verb_exists() -> None:
    usage = subprocess.run(
        [locate.ROOT / "dev", "help"], capture_output=True, text=True, check=True
    ).stdout
    verbs = set(re.findall(r"^  ([a-z][a-z0-9-]*)", usage, re.MULTILINE))
    named = {verb for page in PAGES for verb in VERB.findall(page.read_text())}
    assert named <= verbs, named - verbs


def test_every_job_has_its_permissions_and_steps() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, path
        for name, job in workflow["jobs"].items():
            assert job["steps"], f"{path}: {name}"


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="there is no actionlint")
def test_actionlint_finds_nothing() -> None:
    subprocess.run(["actionlint", *WORKFLOWS], check=True)
