"""Tests of the advice for a program of each of the nine bottlenecks."""

from pathlib import Path

import pytest
from lockwright.advise import advise
from lockwright.profile import record
from support import locate
from support.profiling import profiled

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


#: Most runs of a program if others use the processors, which may cause a wrong diagnosis.
TRIES = 6


def was_disturbed(profile: record.Profile) -> bool:
    """Return whether other programs used half of the time for which threads were runnable."""
    process = profile.process
    if process.runnable is None:
        return True
    runnable = min(process.runnable, process.processors) * process.duration
    return process.cpu_user + process.cpu_system < 0.5 * runnable


@pytest.mark.alone("a diagnosis needs the processors that the program expects")
@pytest.mark.parametrize("name", BOTTLENECKS)
def test_advice_names_only_the_bottleneck_of_the_program(name: str, tmp_path: Path) -> None:
    for _ in range(TRIES):
        profile = profiled(tmp_path, locate.program("bottlenecks", name))
        advice = advise(profile)
        diagnosed = [each.key for each in advice.fired]
        if diagnosed == [BOTTLENECKS[name]] or not was_disturbed(profile):
            break
    assert diagnosed == [BOTTLENECKS[name]], advice.to_json()
    assert advice.sensitive
