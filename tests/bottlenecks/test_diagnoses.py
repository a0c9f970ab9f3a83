"""A program for each of the nine bottlenecks has that one by its profile, and no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lockwright.advise import advise
from lockwright.profile import record
from support import locate

#: What `lockwright advise` calls the bottleneck of each program.
BOTTLENECKS = {
    "high_contention": "high",
    "extreme_contention": "extreme",
    "trylock_contention": "trylock",
    "uncontended_acquisitions": "uncontended",
    "holder_preemption": "holder preemption",
    "hand_over": "hand-over",
    "page_clearing": "page clearing",
    "fault_handler": "fault handler",
    "memory_contention": "memory contention",
}


@pytest.mark.parametrize("name", BOTTLENECKS)
def test_a_program_has_its_own_bottleneck_and_no_other(name: str, tmp_path: Path) -> None:
    """The figures of all nine, where it fails: they say what the machine was doing, too."""
    path = tmp_path / "profile.json"
    program = locate.program("bottlenecks", name)
    done = subprocess.run(
        [locate.lockwright(), "profile", "-o", path, "--", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    advice = advise(record.read(path))
    found = [each.key for each in advice.fired]
    assert found == [BOTTLENECKS[name]], advice.to_json()
    assert advice.sensitive
