"""A run is told by what went wrong first, not by what follows from that."""

import sys
import tomllib
from pathlib import Path

import pytest
from lockwright.experiment import Outcome
from lockwright.preload import locks
from lockwright.run import record
from lockwright.run.process_runner import ProcessRunner
from lockwright_lab.study.program import entry
from lockwright_lab.study.program.placeholders import Placeholders
from lockwright_lab.study.program.trial import Trial

SERVED = f"""
name = "served"
[check]
command = ["false"]
[server]
command = ["{sys.executable}", "-m", "http.server", "--bind", "127.0.0.1", "{{port}}"]
"""


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ('["sleep", "60"]\ntimeout = 0.3', record.TIMEOUT),
        ('["false"]\ntimeout = 60', record.FAILED),
    ],
)
def test_what_the_client_did_counts(command: str, outcome: str, tmp_path: Path) -> None:
    """If the client does not end, the server is killed with it, and the check would fail too."""
    values = tomllib.loads(f"command = {command}\n{SERVED}")
    program = entry.read(values, "plan.toml")
    found = _run(program, tmp_path)
    assert found.ended == outcome, found
    assert found.note
    assert not list(tmp_path.iterdir()), "files of the run are left"


def _run(program: entry.Program, where: Path) -> Outcome:
    library = locks.registry().path_of(locks.BASELINE)
    with ProcessRunner() as processes:
        return Trial(processes, where).run(Placeholders(program, 1, 1.0, where, Path(), library))
