"""A library, the profiler, a few programs and the torture, compiled for aarch64, in an emulator.

`./dev test-aarch64` runs all of them. Memory order is not tested: the emulator has this machine's.
"""

import fcntl
import os
import platform
import shutil
from functools import cache
from pathlib import Path

import pytest
from lockwright.profile import buffer as buffers
from lockwright.profile.collect import LIBRARY
from support import harness, locate
from support.processes import captured

LOCK = "mcs-stp"
PROGRAMS = ["exclusion", "cond_wake", "reuse"]

#: As in CMakePresets.json.
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]

pytestmark = [
    pytest.mark.full("compiles the libraries with another compiler, for minutes"),
    pytest.mark.skipif(platform.machine() == "aarch64", reason="all other tests cover it"),
    pytest.mark.skipif(
        not Path("/usr/src/googletest").exists()
        or any(
            shutil.which(tool) is None
            for tool in (EMULATOR[0], "aarch64-linux-gnu-g++", "cmake", "ninja")
        ),
        reason="needs (Debian): g++-aarch64-linux-gnu qemu-user googletest cmake ninja-build",
    ),
]


@cache
def build() -> Path:
    """Build the targets in a separate directory, in one process at a time."""
    directory = locate.ROOT / "build/aarch64-slice"
    directory.mkdir(parents=True, exist_ok=True)
    libraries = [f"preload-{LOCK}", "probe"]
    targets = [*libraries, "lockwright-torture", *(f"posix_{name}" for name in PROGRAMS)]
    # Precompiled headers do not pay for so few sources.
    options = [f"-DLOCKWRIGHT_ONLY={LOCK}", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (
            ["cmake", "--preset", "aarch64-tests", "-B", str(directory), *options],
            ["cmake", "--build", str(directory), "-j2", "--target", *targets],
        ):
            result = captured(command, cwd=locate.ROOT, timeout=280)
            assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return directory


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_for_aarch64(name: str) -> None:
    directory = build()
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    env["QEMU_SET_ENV"] = f"LD_PRELOAD={directory}/lib/liblockwright-{LOCK}.so"
    # POSIX does not require these properties.
    env |= {"LOCKWRIGHT_TEST_COND_FIFO": "1", "LOCKWRIGHT_TEST_OWNER_SURVIVES_FORK": "1"}
    program = directory / "tests/posix" / name
    outcome = harness.run([*EMULATOR, program], env, 200).clean()
    assert outcome.stdout.count("ok: ") == len(outcome.stdout.splitlines()) > 0, outcome.describe()


def test_profile_for_aarch64() -> None:
    directory = build()
    preload = {"QEMU_SET_ENV": f"LD_PRELOAD={directory}/lib/{LIBRARY}"}
    with buffers.new() as path:
        env = {**os.environ, **preload, buffers.VARIABLE: str(path)}
        program = directory / "tests/posix/reuse"
        outcome = harness.run([*EMULATOR, program], env, 200)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome.describe()
        buffer = buffers.Buffer(path)
        assert buffer.pid != 0, "the profiler was not loaded"
        assert buffer.took_any


def test_torture_for_aarch64() -> None:
    directory = build()
    # The emulator's own memory grows.
    words = ["--seed", "1", "--seconds", "3", "--patience", "20", "--without", "memory"]
    preload = {"QEMU_SET_ENV": f"LD_PRELOAD={directory}/lib/liblockwright-{LOCK}.so"}
    program = directory / "bin/lockwright-torture"
    outcome = harness.run([*EMULATOR, program, *words], {**os.environ, **preload}, 200).succeeded()
    assert '"kind":"final"' in outcome.stdout, outcome.describe()
