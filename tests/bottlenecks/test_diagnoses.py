"""For a program of each of the nine bottlenecks, advice names that one and no other."""

from pathlib import Path

import pytest
from lockwright.advise import advise
from lockwright.profile import record
from support import locate
from support.processes import captured

#: The bottleneck of each program, by the name that `lockwright advise` uses.
BOTTLENECKS = {
    "high_contention": "high",
    "extreme_contention": "extreme",
    "trylock_contention": "trylock",
    "uncontended_acquisitions": "uncontended",
    "holder_preemption": "holder preemption",
    "hand_over": "handover",
    "page_clearing": "page clearing",
    "fault_handler": "fault handler",
    "memory_contention": "memory contention",
}


#: Runs of a program while other programs use the processors; some of those are diagnosed wrongly.
TRIES = 6


def profiled(name: str, path: Path) -> record.Profile:
    program = locate.program("bottlenecks", name)
    done = captured([locate.lockwright(), "profile", "-o", path, "--", program])
    assert done.returncode == 0, done.stderr
    return record.read(path)


def was_disturbed(profile: record.Profile) -> bool:
    """Return whether other programs had most of the processor time that the program could have
    used.
    """
    process = profile.process
    if process.runnable is None:
        return True
    wanted = min(process.runnable, process.processors) * process.duration
    return process.cpu_user + process.cpu_system < 0.5 * wanted


@pytest.mark.parametrize("name", BOTTLENECKS)
def test_a_program_has_its_own_bottleneck_and_no_other(name: str, tmp_path: Path) -> None:
    """A failure shows the figures of all nine, which describe the machine's state as well."""
    for _ in range(TRIES):
        profile = profiled(name, tmp_path / "profile.json")
        advice = advise(profile)
        found = [each.key for each in advice.fired]
        if found == [BOTTLENECKS[name]] or not was_disturbed(profile):
            break
    assert found == [BOTTLENECKS[name]], advice.to_json()
    assert advice.sensitive
