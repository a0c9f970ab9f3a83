"""Tests of the measured working set, and of the size of the last-level cache."""

import subprocess
import sys
from pathlib import Path

import pytest
from lockwright.profile import working_set

_STREAMS = "b = bytearray({mib} * 2**20); s = slice(None, None, 4096); v = bytes(len(b[s]))\n"
_STREAMS += "print(flush=True)\nwhile True: b[s] = v"


def rate(mib: int, cpu: float) -> float:
    """Return the bytes that a process which loops over `mib` MiB touches in a processor second."""
    with subprocess.Popen(
        [sys.executable, "-c", _STREAMS.format(mib=mib)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        # The process may get no processor.
        rates = (working_set.touched_per_second(process.pid, cpu) for _ in range(8))
        bytes_per_second = next(filter(None, rates), None)
        process.kill()
    if bytes_per_second is None:
        pytest.skip("the kernel does not report used pages, or gave the process no processor")
    return bytes_per_second


def test_a_process_that_uses_more_memory_touches_more() -> None:
    """It is 16 times as much, apart from the memory of Python itself."""
    assert rate(128, 0.03) > 4 * rate(8, 0.03)


def test_the_end_of_a_process_ends_the_sampling() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        sampler = working_set.TouchSampler(process.pid)
        process.wait()
    rate_at_end = sampler.stop()
    assert rate_at_end is None or rate_at_end >= 0


def test_the_size_of_the_last_data_cache(tmp_path: Path) -> None:
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "32K"), ("2", "Unified", "1024K"), ("3", "Instruction", "9M")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    assert working_set.last_level_cache_size(tmp_path) == 2**20
    assert working_set.last_level_cache_size(tmp_path / "none") is None
