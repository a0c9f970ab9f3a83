"""Threads that run in a loop until another thread changes a word: they wait."""

import os
from pathlib import Path

import pytest
from lockwright.profile.outside.registers import Registers, is_spinning, registers
from support import locate, profiling


def test_registers_of_a_loop_that_waits() -> None:
    waits = [Registers(100 + each, (1, 2)) for each in (0, 8, 4, 0)]
    assert is_spinning(waits)
    assert not is_spinning(waits[:2])
    assert not is_spinning([Registers(each.instruction * 9, (1, 2)) for each in waits])
    assert not is_spinning([*waits, Registers(100, (1, 3))])


@locate.native
@pytest.mark.alone("a share of few samples is only right if they come in time")
def test_a_spinning_holder_waits(tmp_path: Path) -> None:
    try:
        registers(os.getpid())
    except OSError as error:
        pytest.skip(f"the system does not allow samples of registers: {error}")
    profile, answer = profiling.profile(tmp_path, locate.program("profile", "spins"))
    (loop,) = (each for each in profile.waits if each.kind == "spin")
    assert "await_readers" in loop.name
    assert (loop.waits, loop.samples > 10) == (0, True)
    assert loop.waited == pytest.approx(int(answer.stdout), rel=0.25)
    times = profile.account.all
    assert times.waiting["spin"] * 1e9 == pytest.approx(loop.waited)
    assert times.running * 1e9 < loop.waited
    parts = times.running + times.runnable + times.sleeping + sum(times.waiting.values())
    assert parts == pytest.approx(times.lived, rel=0.02)
    assert f"spinning ({loop.samples} samples)" in answer.stderr
