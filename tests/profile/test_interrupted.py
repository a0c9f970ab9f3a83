"""Tests of a profile of threads that are interrupted, or fork, within the probe."""

import sys
from pathlib import Path

import pytest
from lockwright.profile import buffer as buffers
from lockwright.profile.buffer import Buffer
from lockwright.profile.collect import LIBRARY
from support import harness, locate
from support.processes import compiled

pytestmark = locate.native

#: Acquires a mutex for some hundredths of a second.
ACQUIRES = """
import ctypes, time
c, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
for _ in range(30):
    for _ in range(100): c.pthread_mutex_lock(mutex); c.pthread_mutex_unlock(mutex)
    time.sleep(.001)
"""

#: Delays the probe's first reading of the clock, before and after it.
INTERRUPTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int readings;
  Dl_info from;
  dladdr(__builtin_return_address(0), &from);
  int first = strstr(from.dli_fname, "lockwright-probe") != 0 && readings++ == 0;
  if (first) usleep(50000);
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (first) usleep(50000);
  return result;
}
"""

#: A second process creates a further file while another of its threads forks; so do its children.
FORKS = """
import ctypes, os, threading
c, mutexes = ctypes.CDLL(None), [ctypes.create_string_buffer(64) for _ in range(2)]
def take(mutex):
    for _ in range(1100): c.pthread_mutex_lock(mutex); c.pthread_mutex_unlock(mutex)
take(mutexes[0])
if os.fork() == 0:
    thread = threading.Thread(target=take, args=mutexes[:1])
    thread.start()
    children = []
    while not children or thread.is_alive() and len(children) < 50:
        children.append(os.fork())
        if children[-1] == 0: take(mutexes[1]); os._exit(0)
    for child in children: os.waitpid(child, 0)
    os._exit(0)
os.wait()
"""

#: The second process has four threads with a mutex each. All have begun when one creates the file.
#: They continue until the file exists, its creator has returned, and each thread has acquired its
#: mutex so often that it has looked for a file.
CREATES_FILE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { threads = 4 };
static struct { _Alignas(64) pthread_mutex_t mutex; atomic_ulong taken; } each[threads];
static atomic_int stop, begun;
static void* take(void* number) {
  for (long i = (long)number; !stop; ++each[i].taken) {
    pthread_mutex_lock(&each[i].mutex);
    pthread_mutex_unlock(&each[i].mutex);
    if (each[i].taken == 0)
      for (++begun; begun < threads;) usleep(100);
    if (each[i].taken % 100 == 0) usleep(100);
  }
  return 0;
}
static void wait_for_acquisitions(unsigned long times) {
  for (int i = 0; i < threads; ++i)
    for (unsigned long from = each[i].taken; each[i].taken < from + times;) usleep(1000);
}
static int has_owner(void) {
  char path[600];
  uint32_t pid = 0;
  snprintf(path, sizeof path, "%s.1", getenv("LOCKWRIGHT_PROFILE"));
  int file = open(path, O_RDONLY);
  if (file >= 0 && pread(file, &pid, sizeof pid, 16) != sizeof pid) pid = 0;
  if (file >= 0) close(file);
  return pid != 0;
}
int main(void) {
  pthread_mutex_lock(&each[0].mutex);
  pthread_mutex_unlock(&each[0].mutex);
  if (fork() == 0) {
    pthread_t thread[threads];
    for (long i = 0; i < threads; ++i) pthread_create(&thread[i], 0, take, (void*)i);
    while (!has_owner()) usleep(1000);
    wait_for_acquisitions(2);
    wait_for_acquisitions(5000);
    stop = 1;
    for (int i = 0; i < threads; ++i) pthread_join(thread[i], 0);
    _exit(0);
  }
  int status;
  wait(&status);
  return status;
}
"""


def profiled(program: list[str | Path], path: Path, first: Path | None = None) -> Buffer:
    """Run a program with the probe, after the library `first`, and return the buffer."""
    environment = harness.environment(harness.Setting(harness.LIBC))
    libraries = [first, locate.preload_dir() / LIBRARY]
    environment["LD_PRELOAD"] = ":".join(str(each) for each in libraries if each is not None)
    environment[buffers.VARIABLE] = str(path)
    outcome = harness.run(program, environment, 60)
    assert (outcome.status, outcome.stderr) == (0, ""), outcome.describe()
    return Buffer(path)


def test_between_two_readings_of_the_clock(tmp_path: Path) -> None:
    library = compiled(tmp_path, "library.so", INTERRUPTS, "-shared", "-fPIC")
    program: list[str | Path] = [sys.executable, "-c", ACQUIRES]
    with buffers.new() as path:
        undisturbed = profiled(program, path).nanoseconds
    with buffers.new() as path:
        assert profiled(program, path, library).nanoseconds == pytest.approx(undisturbed, rel=0.05)


def test_between_two_files() -> None:
    with buffers.new() as path:
        buffer = profiled([sys.executable, "-c", FORKS], path)
        filled = [each for each in path.parent.glob(f"{path.name}.*") if each.stat().st_size]
        suffixes = {each.name.removeprefix(path.name) for each in filled}
        assert buffer["files"] > 1
        assert suffixes == {f".{number + 1}" for number in range(int(buffer["files"]))}


def test_while_another_thread_creates_the_file(tmp_path: Path) -> None:
    program = compiled(tmp_path, "program", CREATES_FILE)
    with buffers.new() as path:
        profiled([program], path)
        (further,) = buffers.further_files(path, 1)
        threads = [each for each in Buffer(further).threads if each["acquisitions"] > 0]
        assert len(threads) == 4
