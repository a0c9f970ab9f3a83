"""Tests of POSIX thread programs under the profiler, which must not change their behaviour."""

import sys
from pathlib import Path

import pytest
from lockwright.profile import buffer as buffers
from lockwright.profile.buffer import Buffer
from lockwright.profile.collect import LIBRARY
from support import harness, locate

PROGRAMS = [
    "c11",
    "c_library_kinds",
    "cond_cancel",
    "cond_types",
    "cond_wake",
    "conformance",
    "cpp20",
    "early_and_late",
    "exclusion",
    "fork",
    "own_getenv",
    "raw_clone",
    "reuse",
    "sandbox",
    "started_programs",
    "thread_ends",
    "timedlock",
    "trylock",
    "types",
]

#: Programs whose calls the others make too, and that take longest under the profiler.
LONG = ["churn", "cond_queue", "cond_timed", "many_threads", "migrate"]
LONG += ["plugins", "rwlocks", "static_init"]
FULL = pytest.mark.full("takes long, and other programs make the same calls")


def profiled(program: Path, buffer: Path) -> harness.Outcome:
    if obstacle := harness.obstacle(program.name):
        pytest.skip(obstacle)
    environment = harness.environment(harness.Setting(harness.LIBC))
    environment["LD_PRELOAD"] = str(locate.preload_dir() / LIBRARY)
    environment[buffers.VARIABLE] = str(buffer)
    if program.name == "sandbox":
        # Within a filter that it was started with, the profiler makes more calls than locks do.
        environment["LOCKWRIGHT_TEST_LEFT_OUT"] = "before it starts"
    return harness.run([program], environment)


@pytest.mark.parametrize("name", [*PROGRAMS, *(pytest.param(name, marks=FULL) for name in LONG)])
def test_program(name: str) -> None:
    with buffers.new() as path:
        buffer = Buffer(path)
        outcome = profiled(locate.program("posix", name), path)
        assert outcome.status == 0, outcome.describe()
        assert outcome.stderr == "", outcome.describe()
        assert buffer.pid != 0, "the probe was not loaded"
        assert not buffer.threads["waiting_for"].any()


@locate.native
def test_more_threads_than_the_buffer_has_entries() -> None:
    """Two threads then share an entry, but not the record of their held mutexes."""
    code = (
        "import ctypes, threading\n"
        "c, one, checked = ctypes.CDLL(None), *map(ctypes.create_string_buffer, (64, 64))\n"
        "def take(): c.pthread_mutex_lock(one); c.pthread_mutex_unlock(one)\n"
        "take()\n"
        f"for _ in range({buffers.table_size('threads') + 50}):\n"
        "    thread = threading.Thread(target=take); thread.start(); thread.join()\n"
        "checked[16] = b'\\2'  # the type: error-checking\n"
        "for _ in range(20000):\n"
        "    both = c.pthread_mutex_lock(checked), c.pthread_mutex_unlock(checked)\n"
        "    assert both == (0, 0), both\n"
    )
    environment = harness.environment(harness.Setting(harness.LIBC))
    environment["LD_PRELOAD"] = str(locate.preload_dir() / LIBRARY)
    with buffers.new() as path:
        environment[buffers.VARIABLE] = str(path)
        outcome = harness.run([sys.executable, "-c", code], environment, 60)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome.describe()
        assert Buffer(path)["threads_used"] > buffers.table_size("threads")
