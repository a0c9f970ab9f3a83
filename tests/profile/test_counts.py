"""The counts of a profile are those that the program makes by construction."""

import subprocess
from pathlib import Path

from lockwright.profile import record
from lockwright.profile.record import Profile
from support import locate
from support.processes import captured

pytestmark = locate.native

START = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
"""


def compiled(directory: Path, name: str, text: str, *options: str) -> Path:
    """Build a program or library from C."""
    (directory / f"{name}.c").write_text(START + text)
    built = directory / name
    command = ["cc", "-O1", "-g", "-pthread", *options, "-o", str(built), f"{built}.c"]
    subprocess.run(command, check=True, timeout=60)
    return built


def profiled(directory: Path, *argv: str | Path) -> Profile:
    path = directory / "profile.json"
    command = [locate.lockwright(), "profile", "-o", path, "--", *argv]
    answer = captured(command)
    assert answer.returncode == 0, answer.stderr
    return record.read(path)


PLUGIN = """
static pthread_mutex_t plugin_mutex = PTHREAD_MUTEX_INITIALIZER;
void run(void) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&plugin_mutex);
    pthread_mutex_unlock(&plugin_mutex);
  }
}
"""
HOST = """
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_LAZY | RTLD_DEEPBIND);
  if (library == NULL) return puts(dlerror());
  ((void (*)(void))dlsym(library, "run"))();
  return 0;
}
"""


def test_a_library_opened_with_deep_binding(tmp_path: Path) -> None:
    library = compiled(tmp_path, "libplugin.so", PLUGIN, "-shared", "-fPIC")
    profile = profiled(tmp_path, compiled(tmp_path, "host", HOST), library)
    assert [(each.name, each.acquisitions) for each in profile.mutexes] == [("plugin_mutex", 1000)]
