"""Functions that run a program under a lock, and record the stacks of one that hangs."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lockwright.preload import binary

from support import locate

#: The name of the C library's own locks: no preload at all.
LIBC = "libc"

#: Seconds after which a program counts as hung; on an idle machine it takes a few.
LIMIT = 200


def shorter() -> dict[str, str]:
    """Return variables by which, in the short run, stress loops of compiled tests take a quarter
    of their time."""
    everything = locate.all_tests() or locate.emulator() or locate.sanitizer()
    return {} if everything else {"LOCKWRIGHT_TEST_BUDGET": "25"}


#: The factor by which the limit is longer in an emulator.
EMULATED_TIMES_SLOWER = 10

_FORK = "the child of a process with threads fails a check of the emulator"
_MEMORY = "the emulator's own memory grows"

#: Programs that qemu-user 7.2 cannot run, even with the C library's own locks, and why.
NOT_EMULATED = {
    "fork": _FORK,
    "semaphores": _FORK,
    "churn": _MEMORY,
    "migrate": _MEMORY,
    "abandoned": _MEMORY,
    "no_memory": _FORK,
    "c_library_kinds": "there are no robust mutexes in the emulator",
    "started_programs": "the kernel cannot start a program for another processor",
    "sandbox": "there is no seccomp in the emulator",
}

#: Cases that it cannot run: it breaks the forked child, or sleeps itself.
CASE_NOT_EMULATED = {"rwlocks": "forks", "spins": "forks", "busylock": "busy-waits"}

_REPORTS = "ThreadSanitizer reports it, with the C library's own locks too"
_GROWS = "the memory of the sanitizer itself grows"
_CALLS = "the sanitizer itself calls gettid"

#: Programs that cannot run with gcc 12's sanitizers, and why.
NOT_SANITIZED = {
    "thread": {
        **dict.fromkeys(
            [
                "c11",
                "c_library_kinds",
                "cond_types",
                "cpp20",
                "fork",
                "many_threads",
                "plugins",
                "rwlocks",
                "semaphores",
                "spins",
                "thread_ends",
                "timedlock",
                "types",
            ],
            _REPORTS,
        ),
        "busylock": "ThreadSanitizer does not know lockwright_mutex_busylock",
        "conformance": "ThreadSanitizer delays signals while a call waits",
        "started_programs": "the programs that it starts need ThreadSanitizer's library too",
        "churn": _GROWS,
        "migrate": _GROWS,
        "sandbox": _CALLS,
        "abandoned": _GROWS,
        "no_memory": "the sanitizer itself needs memory",
    },
    "address": {
        "churn": _GROWS,
        "migrate": _GROWS,
        "sandbox": _CALLS,
        "abandoned": _GROWS,
        "no_memory": "the sanitizer itself needs memory",
        "plugins": "AddressSanitizer ends it, with the C library's own locks too",
    },
}


def obstacle(program: str) -> str | None:
    """Return why a program cannot run in the emulator or with the sanitizer in use, or None."""
    if locate.emulator():
        return NOT_EMULATED.get(program)
    return NOT_SANITIZED.get(locate.sanitizer(), {}).get(program)


#: Declarations of 1, 2 and 4 NUMA nodes. On two, threads change nodes as they change CPUs; on four,
#: each thread stays on one node, because a machine may have fewer CPUs.
NODES = {"0": 1, "0;1": 2, "threads:0;1;2;3": 4}


@dataclass(frozen=True)
class Setting:
    """A lock, and the variables that declare a machine to it."""

    lock: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        declared = "".join(f" on {value}" for value in self.environment.values())
        return f"{self.lock}{declared}"

    @property
    def nodes(self) -> int:
        """Return the number of declared NUMA nodes; 1 without a declaration."""
        return NODES[self.environment.get("LOCKWRIGHT_TOPOLOGY", "0")]

    @property
    def preloaded(self) -> bool:
        return self.lock != LIBC


@dataclass(frozen=True)
class Outcome:
    """The result of a program; `stacks` is set if it had to be killed."""

    status: int
    stdout: str
    stderr: str
    stacks: str | None = None

    @property
    def hung(self) -> bool:
        return self.stacks is not None

    def succeeded(self) -> "Outcome":
        """Assert that it ended with status 0."""
        assert self.status == 0, self.describe()
        return self

    def clean(self) -> "Outcome":
        """Assert that it ended with status 0 and printed nothing on stderr."""
        assert self.succeeded().stderr == "", self.describe()
        return self

    def describe(self) -> str:
        state = "hung" if self.hung else f"ended with status {self.status}"
        parts = [state, f"-- stdout\n{self.stdout}", f"-- stderr\n{self.stderr}"]
        if self.stacks is not None:
            parts.append(f"-- stacks\n{self.stacks}")
        return "\n".join(parts)


def all_settings(least_nodes: int = 1, most_nodes: int = 4) -> list[Setting]:
    """Return the C library, and every algorithm on each declared machine that it distinguishes."""
    settings = [Setting(LIBC)]
    for lock in locate.lock_names():
        if locate.reads_topology(lock):
            settings += [
                Setting(lock, {"LOCKWRIGHT_TOPOLOGY": declared})
                for declared, nodes in NODES.items()
                if least_nodes <= nodes <= most_nodes
            ]
        else:
            settings.append(Setting(lock))
    return settings


def environment(
    setting: Setting, *, counting: bool = False, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment that puts the lock under a program."""
    result = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LOCKWRIGHT_") and name != "LD_PRELOAD"
    }
    if not setting.preloaded or locate.traits(setting.lock)["parking"]:
        result["LOCKWRIGHT_TEST_PARKS"] = "1"
    if setting.preloaded:
        result["LD_PRELOAD"] = str(locate.preload(setting.lock, counting=counting))
        # POSIX does not require these properties.
        result["LOCKWRIGHT_TEST_COND_FIFO"] = "1"
        plan = setting.environment.get("LOCKWRIGHT_PLAN", "")
        if setting.lock != "pthread" and "D pthread" not in plan:
            result["LOCKWRIGHT_TEST_OWNER_SURVIVES_FORK"] = "1"
        # A NUMA-aware lock may depart from the order of arrival on several nodes.
        may_reorder = setting.nodes > 1 and locate.traits(setting.lock)["numa_aware"]
        if locate.is_fifo(setting.lock) and not may_reorder:
            result["LOCKWRIGHT_TEST_FIFO"] = "1"
    result.update(setting.environment)
    result.update(extra or {})
    return result


_GDB_SETTINGS = ["-ex", "set print frame-arguments none", "-ex", "set print entry-values no"]


def _stacks(pid: int) -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        return "(no gdb to show the stacks)"
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    try:
        printed = subprocess.run(
            [gdb, "-p", str(pid), "-batch", "-nx", *_GDB_SETTINGS, "-ex", "thread apply all bt 12"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "(gdb did not answer)"
    lines = [line for line in printed.stdout.splitlines() if not line.startswith("[New LWP")]
    return "\n".join(lines[-400:])


def run(
    argv: Sequence[str | Path],
    env: Mapping[str, str],
    timeout: float = LIMIT,
    *,
    cwd: Path | None = None,
    stacks: bool = True,
) -> Outcome:
    """Run `argv` in its own process group for at most `timeout` seconds, in the emulator if set."""
    env = shorter() | dict(env)
    emulator = locate.emulator()
    if emulator and Path(argv[0]).is_relative_to(locate.binary_dir()):
        argv = [*emulator, *argv]
        env = dict(env)
        if "LD_PRELOAD" in env:  # The emulator itself must not load it.
            env["QEMU_SET_ENV"] = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
        if case := CASE_NOT_EMULATED.get(Path(argv[len(emulator)]).name):
            env["LOCKWRIGHT_TEST_LEFT_OUT"] = case
        timeout *= EMULATED_TIMES_SLOWER
    sanitizer = binary.sanitizer(Path(argv[0])) if locate.sanitizer() == "thread" else None
    if sanitizer and "LD_PRELOAD" in env:  # The sanitizer's functions call those of the lock.
        env = {**env, "LD_PRELOAD": f"{sanitizer}:{env['LD_PRELOAD']}"}
    with (
        tempfile.TemporaryFile("w+", errors="replace") as out,
        tempfile.TemporaryFile("w+", errors="replace") as err,
    ):
        process = subprocess.Popen(
            [str(word) for word in argv],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=cwd,
            process_group=0,
        )
        trace = None
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            trace = _stacks(process.pid) if stacks else "(not requested)"
        finally:
            # Children that outlive their parent are in the same group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return Outcome(process.returncode, out.read(), err.read(), trace)


class RunUnder(Protocol):
    """A function that runs a program under a lock; the test fails with all stacks if it hangs."""

    def __call__(
        self,
        lock: str | Setting,
        argv: Sequence[str | Path],
        timeout: float = LIMIT,
        *,
        counting: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Outcome: ...
