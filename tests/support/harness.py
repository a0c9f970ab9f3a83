"""Runs a program under a lock; when it hangs, shows every stack and kills its whole group."""

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

#: The name under which a program runs with the C library's own locks: no preload at all.
LIBC = "libc"


#: Seconds for a program, which takes some on a machine that does nothing else. They end what hangs;
#: how long a program takes is no matter of a test.
LIMIT = 200

#: By how much a program may take longer in an emulator.
EMULATED_TIMES_SLOWER = 10

_FORK = "the child of a process with threads stops at a check of the emulator's own"
_MEMORY = "the emulator's own memory grows"

#: What qemu-user 7.2 cannot run, with the C library's own locks neither.
NOT_EMULATED = {
    "fork": _FORK,
    "fork_first_use": _FORK,
    "semaphores": _FORK,
    "churn": _MEMORY,
    "migrate": _MEMORY,
    "abandoned": _MEMORY,
    "no_memory": _FORK,
    "c_library_kinds": "there are no robust mutexes in the emulator",
    "started_programs": "the kernel cannot start a program for another processor",
    "no_gettid": "there is no seccomp in the emulator",
}

#: Single cases of programs that it cannot run: it breaks that child, or sleeps itself.
CASE_NOT_EMULATED = {"rwlocks": "forks", "spins": "forks", "busylock": "waits awake"}

_OBJECTS = "ThreadSanitizer objects to it, with the C library's own locks too"
_GROWS = "the memory of the sanitizer itself grows"
_ASKS = "the sanitizer itself asks for the numbers of threads"

#: What programs built with gcc 12's sanitizers cannot do.
NOT_SANITIZED = {
    "thread": {
        **dict.fromkeys(
            [
                "c11",
                "c_library_kinds",
                "cond_types",
                "cpp20",
                "fork",
                "fork_first_use",
                "many_threads",
                "nesting",
                "plugins",
                "rwlocks",
                "semaphores",
                "spins",
                "thread_ends",
                "threads_h",
                "timedlock",
                "types",
            ],
            _OBJECTS,
        ),
        "busylock": "ThreadSanitizer does not know lockwright_mutex_busylock",
        "conformance": "ThreadSanitizer keeps signals back while a call waits",
        "started_programs": "what it starts needs the library of ThreadSanitizer as well",
        "churn": _GROWS,
        "migrate": _GROWS,
        "no_gettid": _ASKS,
        "abandoned": _GROWS,
        "no_memory": "the sanitizer itself needs memory",
    },
    "address": {
        "churn": _GROWS,
        "migrate": _GROWS,
        "no_gettid": _ASKS,
        "abandoned": _GROWS,
        "no_memory": "the sanitizer itself needs memory",
        "plugins": "AddressSanitizer ends it, with the C library's own locks too",
    },
}


def obstacle(program: str) -> str | None:
    """Why a program cannot be run the way that these tests are run in; else None."""
    if locate.emulator():
        return NOT_EMULATED.get(program)
    return NOT_SANITIZED.get(locate.sanitizer(), {}).get(program)


#: How 1, 2 and 4 NUMA nodes are declared: on two, threads change nodes as they change CPUs; on
#: four, each thread is on one of them, because a machine may have fewer CPUs than that.
NODES = {"0": 1, "0;1": 2, "threads:0;1;2;3": 4}


@dataclass(frozen=True)
class Setting:
    """One way to run a program: a lock, and the variables that declare a machine to it."""

    lock: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        declared = "".join(f" on {value}" for value in self.environment.values())
        return f"{self.lock}{declared}"

    @property
    def nodes(self) -> int:
        """So many NUMA nodes are declared; 1 if nothing is, for the lock then does not look."""
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

    def describe(self) -> str:
        state = "hung" if self.hung else f"ended with status {self.status}"
        parts = [state, f"-- stdout\n{self.stdout}", f"-- stderr\n{self.stderr}"]
        if self.stacks is not None:
            parts.append(f"-- stacks\n{self.stacks}")
        return "\n".join(parts)


def all_settings(least_nodes: int = 1, most_nodes: int = 4) -> list[Setting]:
    """The C library itself, and every algorithm, on each machine that makes a difference to it and
    has so many nodes.
    """
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
    """The environment that puts the lock under a program."""
    result = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LOCKWRIGHT_") and name != "LD_PRELOAD"
    }
    if not setting.preloaded or locate.traits(setting.lock)["parking"]:
        result["LOCKWRIGHT_TEST_PARKS"] = "1"
    if setting.preloaded:
        result["LD_PRELOAD"] = str(locate.preload(setting.lock, counting=counting))
        # Promises of this library that POSIX does not make.
        result["LOCKWRIGHT_TEST_COND_FIFO"] = "1"
        plan = setting.environment.get("LOCKWRIGHT_PLAN", "")
        if setting.lock != "pthread" and "D pthread" not in plan:
            result["LOCKWRIGHT_TEST_OWNER_SURVIVES_FORK"] = "1"
        # On several nodes a lock that knows them may leave the order of arrival.
        knows_nodes = setting.nodes > 1 and locate.traits(setting.lock)["numa_aware"]
        if locate.is_fifo(setting.lock) and not knows_nodes:
            result["LOCKWRIGHT_TEST_FIFO"] = "1"
    result.update(setting.environment)
    result.update(extra or {})
    return result


_GDB_SETTINGS = ["-ex", "set print frame-arguments none", "-ex", "set print entry-values no"]


def _stacks(pid: int) -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        return "(no gdb here to show the stacks)"
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    try:
        shown = subprocess.run(
            [gdb, "-p", str(pid), "-batch", "-nx", *_GDB_SETTINGS, "-ex", "thread apply all bt 12"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "(gdb did not answer)"
    lines = [line for line in shown.stdout.splitlines() if not line.startswith("[New LWP")]
    return "\n".join(lines[-400:])


def run(
    argv: Sequence[str | Path],
    env: Mapping[str, str],
    timeout: float = LIMIT,
    *,
    cwd: Path | None = None,
    stacks: bool = True,
) -> Outcome:
    """Runs `argv` in a process group of its own for at most `timeout` seconds.

    A compiled test that is for another processor runs in its emulator.
    """
    emulator = locate.emulator()
    if emulator and Path(argv[0]).is_relative_to(locate.binary_dir()):
        argv = [*emulator, *argv]
        env = dict(env)
        if "LD_PRELOAD" in env:  # It is not the emulator's.
            env["QEMU_SET_ENV"] = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
        if case := CASE_NOT_EMULATED.get(Path(argv[len(emulator)]).name):
            env["LOCKWRIGHT_TEST_LEFT_OUT"] = case
        timeout *= EMULATED_TIMES_SLOWER
    first = binary.sanitizer(Path(argv[0])) if locate.sanitizer() == "thread" else None
    if first and "LD_PRELOAD" in env:  # It goes on to the lock.
        env = {**env, "LD_PRELOAD": f"{first}:{env['LD_PRELOAD']}"}
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
        shown = None
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            shown = _stacks(process.pid) if stacks else "(not asked for)"
        finally:
            # Children that outlive their parent are in the same group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return Outcome(process.returncode, out.read(), err.read(), shown)


class RunUnder(Protocol):
    """Runs a program under a lock; fails the test, showing all stacks, if it hangs."""

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
