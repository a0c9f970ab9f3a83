"""The working set is measured apart from other memory, and the size of the last cache is read."""

import subprocess
import sys
from pathlib import Path

import pytest
from lockwright.profile import working_set

_STREAMS = "b = bytearray({mib} * 2**20); s = slice(None, None, 4096); v = bytes(len(b[s]))\n"
_STREAMS += "print(flush=True)\nwhile True: b[s] = v"


def rate(mib: int, cpu: float) -> float:
    """Bytes for each second of processor time of a process that uses `mib` again and again."""
    with subprocess.Popen(
        [sys.executable, "-c", _STREAMS.format(mib=mib)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        # One that gets no processor is given up.
        seen = next(
            filter(None, (working_set.touched_per_second(process.pid, cpu) for _ in range(8))), None
        )
        process.kill()
    if seen is None:
        pytest.skip(
            "the kernel does not tell which pages are used, or gave the process no processor"
        )
    return seen


def test_a_process_that_uses_more_memory_touches_more() -> None:
    """All of it within the look: 16 times as much, but for what Python itself uses."""
    assert rate(128, 0.03) > 4 * rate(8, 0.03)


def test_a_process_that_ends_ends_the_looks() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        looks = working_set.TouchSampler(process.pid)
        process.wait()
    seen = looks.stop()
    assert seen is None or seen >= 0


def test_the_last_level_counts_and_instructions_do_not(tmp_path: Path) -> None:
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "32K"), ("2", "Unified", "1024K"), ("3", "Instruction", "9M")]
    ):
        place = tmp_path / f"index{index}"
        place.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (place / name).write_text(f"{text}\n")
    assert working_set.last_level_cache_size(tmp_path) == 2**20
    assert working_set.last_level_cache_size(tmp_path / "none") is None
