"""A profile is right where a thread is interrupted, or forks, amid what the probe does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lockwright.profile import sheet as sheets
from lockwright.profile.collect import LIBRARY
from lockwright.profile.sheet import Sheet
from support import harness, locate

pytestmark = pytest.mark.skipif(
    bool(locate.emulator() or locate.sanitizer()), reason="the programs are not of this machine"
)

#: Takes a mutex for some hundredths of a second.
TAKES = """
import ctypes, time
c, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
for _ in range(30):
    for _ in range(100): c.pthread_mutex_lock(mutex); c.pthread_mutex_unlock(mutex)
    time.sleep(.001)
"""

#: The probe's first look at the clock lasts as if the thread was interrupted before and after it.
INTERRUPTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int looks;
  Dl_info from;
  dladdr(__builtin_return_address(0), &from);
  int first = strstr(from.dli_fname, "lockwright-probe") != 0 && looks++ == 0;
  if (first) usleep(50000);
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (first) usleep(50000);
  return result;
}
"""

#: A second process gets a file of its own while another thread of it forks; so do its children.
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


def profiled(code: str, path: Path, before: Path | None = None) -> Sheet:
    environment = harness.environment(harness.Setting(harness.LIBC))
    libraries = [before, locate.preload_dir() / LIBRARY]
    environment["LD_PRELOAD"] = ":".join(str(each) for each in libraries if each is not None)
    environment[sheets.VARIABLE] = str(path)
    outcome = harness.run([sys.executable, "-c", code], environment, 60)
    assert (outcome.status, outcome.stderr) == (0, ""), outcome.describe()
    return Sheet(path)


def test_between_two_clocks(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "clock.c").write_text(INTERRUPTS)
    library = tmp_path / "clock.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c"], check=True, timeout=60
    )
    with sheets.new() as path:
        right = profiled(TAKES, path).nanoseconds
    with sheets.new() as path:
        assert profiled(TAKES, path, library).nanoseconds == pytest.approx(right, rel=0.05)


def test_between_two_files() -> None:
    with sheets.new() as path:
        sheet = profiled(FORKS, path)
        beside = {each.name.removeprefix(path.name) for each in path.parent.glob(f"{path.name}.*")}
        assert sheet["files"] > 1
        assert beside == {f".{number + 1}" for number in range(int(sheet["files"]))}
