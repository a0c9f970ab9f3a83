"""A debugger shows a program's threads and the owners of its mutexes under every lock."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import harness, locate
from support.harness import Setting
from support.processes import captured, compiled

#: The C library's mutex, and one lock of each category and `waiting` trait, the default among them.
CHOSEN = ["pthread", "futex", "ttas", "mcs-stp", "ticket", "c-bo-mcs-stp", "adaptive"]
LOCKS = [harness.LIBC, *(lock for lock in CHOSEN if lock in locate.lock_names())]

HELD = r"""
#include <pthread.h>
pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t unowned = PTHREAD_MUTEX_INITIALIZER;
extern "C" void look() { asm volatile(""); }
void* waits(void*) { pthread_mutex_lock(&normal); return nullptr; }
void* holds(void*) {
  pthread_mutex_lock(&unowned);
  pthread_mutex_unlock(&unowned);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&normal);
  pthread_t waiter;
  pthread_create(&waiter, nullptr, waits, nullptr);
  pthread_setname_np(pthread_self(), "holder");  // not before: names are inherited
  look();
  pthread_mutex_unlock(&normal);
  pthread_join(waiter, nullptr);
  return nullptr;
}
int main() {
  pthread_t holder;
  pthread_create(&holder, nullptr, holds, nullptr);
  return pthread_join(holder, nullptr);
}
"""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("held"), "held", HELD, "-O0", suffix="cpp")


def in_gdb(program: Path, lock: str, *commands: str) -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    words = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    environment = harness.environment(Setting(lock))
    if lock != harness.LIBC:
        words += ["-ex", f"set environment LD_PRELOAD {environment.pop('LD_PRELOAD')}"]
    for command in ("set startup-with-shell off", "break -qualified look", "run", *commands):
        words += ["-ex", command]
    result = captured([*words, str(program)], env=environment, stdin=subprocess.DEVNULL)
    if "ptrace" in result.stderr.lower() or "permitted" in result.stderr.lower():
        pytest.skip("tracing a process is not permitted")
    return result.stdout + result.stderr


@pytest.mark.parametrize("lock", LOCKS)
def test_gdb_shows_threads_and_owners(held: Path, lock: str) -> None:
    owners = [f"print {name}.__data.__owner" for name in ("normal", "recursive", "unowned")]
    output = in_gdb(held, lock, "info threads", "info sharedlibrary", *owners, "print normal")
    numbers = dict(re.findall(r"\$(\d) = (\d+)$", output, re.MULTILINE))
    threads = re.findall(r'^[* ] \d+ +Thread \S+ \(LWP (\d+)\) "(\w+)"', output, re.MULTILINE)
    assert len(threads) == 3, output
    holder = [lwp for lwp, name in threads if name == "holder"]
    assert [numbers["1"]] == holder, output
    assert [numbers["2"]] == holder, output
    assert numbers["3"] == "0", output
    assert f"__owner = {holder[0]}" in output or "Owner ID" in output, output
    assert (f"liblockwright-{lock}.so" in output) == (lock != harness.LIBC), output
