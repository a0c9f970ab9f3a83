"""The counts of a profile are those that the program makes by construction."""

import platform
from pathlib import Path

import pytest
from support import locate, processes
from support.profiling import profiled

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
    return processes.compiled(directory, name, START + text, "-O1", *options)


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


COROUTINES = r"""
#include <stdint.h>
#include <sys/mman.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *main_stack, *coroutine_stack;
void switch_to(void **from, void *to);
__asm__(".globl switch_to\nswitch_to:\n push %rbp\n push %rbx\n mov %rsp, (%rdi)\n"
        " mov %rsi, %rsp\n pop %rbx\n pop %rbp\n ret\n");
__attribute__((noinline)) static void step(void) {
  pthread_mutex_t local;
  pthread_mutex_init(&local, NULL);
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_destroy(&local);
}
static void entry(void) {
  for (;;) {
    step();
    usleep(2500);
    step();
    switch_to(&coroutine_stack, main_stack);
  }
}
static void call_that_ends(void) { step(); abort(); }
int main(void) {
  enum { size = 65536, page = 4096 };
  /* The words that the stack begins with: the last of its mapping, and entry() below. */
  const uint64_t words[][3] = {
      {(uint64_t)abort}, {0}, {0xdeadbeef}, {16}, {~(uint64_t)0}, {(uint64_t)words},
      {(uint64_t)&call_that_ends + 5}, {(uint64_t)abort, 1, 2}, {0xdeadbeef, (uint64_t)abort, 0}};
  for (unsigned each = 0; each < sizeof words / sizeof *words; each++) {
    char *bottom = mmap(0, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(bottom, size, PROT_READ | PROT_WRITE);
    uint64_t *top = (uint64_t *)(bottom + size);
    for (int i = words[each][1] != 0 ? 2 : 0; i >= 0; i--) *--top = words[each][i];
    *--top = (uint64_t)entry;
    for (int i = 0; i < 2; i++) *--top = each % 2 ? 0 : (uint64_t)top;
    coroutine_stack = top;
    for (int i = 0; i < 3; i++) {
      usleep(2500); /* stacks are walked every 2 ms */
      switch_to(&main_stack, coroutine_stack);
    }
  }
  puts("ok");
  return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="switches stacks in assembler")
def test_stacks_of_coroutines(tmp_path: Path) -> None:
    """Their first return address may be anything, in the last word that is mapped."""
    program = compiled(tmp_path, "coroutines", COROUTINES)
    profile = profiled(tmp_path, program)
    assert profile.exit_status == 0
    (mutex,) = (each for each in profile.mutexes if each.name == "mutex")
    assert mutex.acquisitions == 9 * 3 * 200
    walked = {tuple(frame.symbol for frame in site.stack[:2]) for site in mutex.sites}
    assert walked == {("step", "entry")}


SHORT_THREADS = """
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int locks, reads, writes;
static void *work(void *unused) {
  for (int i = 0; i < locks; i++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  for (int i = 0; i < reads + writes; i++) {
    if (i < reads) pthread_rwlock_rdlock(&rwlock);
    else pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
  return unused;
}
static void run(int threads) {
  for (int i = 0; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) abort();
    pthread_join(thread, NULL);
  }
}
int main(int argc, char **argv) {
  int threads = atoi(argv[2]);
  locks = atoi(argv[3]), reads = atoi(argv[4]), writes = atoi(argv[5]);
  if (argv[1][0] == 'e') { /* executes itself once */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    argv[1] = "-";
    execv("/proc/self/exe", argv);
  }
  if (argv[1][0] == 'c') { /* in a child, whose parent has the first file */
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pid_t child = fork();
    if (child != 0) return waitpid(child, NULL, 0) != child;
  }
  run(threads);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("process", "threads", "locks", "reads", "writes"),
    [
        pytest.param(  # more threads than the table of threads has room for
            *("-", 10_000, 7, 3, 2), marks=pytest.mark.full("makes 10,000 threads")
        ),
        ("-", 20, 7777, 7777, 777),
        ("e", 2, 5000, 500, 50),
        ("c", 30, 321, 0, 0),
        ("c", 30, 0, 321, 123),
    ],
)
def test_threads_that_end(
    tmp_path: Path, process: str, threads: int, locks: int, reads: int, writes: int
) -> None:
    program = compiled(tmp_path, "short", SHORT_THREADS, "-include", "sys/wait.h")
    numbers = [str(number) for number in (threads, locks, reads, writes)]
    profile = profiled(tmp_path, program, process, *numbers)
    assert profile.process.lock_calls == threads * locks
    assert [mutex.acquisitions for mutex in profile.mutexes] == [threads * locks] * (locks > 0)
    taken = [(each.readers.acquisitions, each.writers.acquisitions) for each in profile.rwlocks]
    assert taken == [(threads * reads, threads * writes)] * (reads > 0)
    if process == "-":
        roles = {role.name: role.times.threads for role in profile.account.roles}
        # A program may end before a sample sees its first thread.
        assert roles.pop("main", 1) == 1
        assert roles == {"work": threads}


NESTED_AND_TIMED = """
static pthread_mutex_t nested, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static void *time_out(void *unused) {
  for (int i = 0; i < 20; i++) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += (soon.tv_nsec += 1000000) / 1000000000;
    soon.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(&mutex, &soon) == 0) abort();
    if (pthread_rwlock_timedrdlock(&rwlock, &soon) == 0) abort();
    if (pthread_rwlock_timedwrlock(&rwlock, &soon) == 0) abort();
  }
  return unused;
}
int main(void) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&nested, &recursive);
  for (int i = 0; i < 100; i++) {
    for (int depth = 0; depth < 5; depth++) pthread_mutex_lock(&nested);
    if (pthread_mutex_trylock(&nested) != 0) abort();
    for (int depth = 0; depth < 6; depth++) pthread_mutex_unlock(&nested);
  }
  pthread_mutex_lock(&checked);
  for (int i = 0; i < 100; i++) {
    if (pthread_mutex_lock(&checked) == 0) abort();
  }
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&rwlock);
  pthread_t thread;
  pthread_create(&thread, NULL, time_out, NULL);
  pthread_join(thread, NULL);
  return 0;
}
"""


def test_nested_acquisitions_count_and_timeouts_do_not(tmp_path: Path) -> None:
    profile = profiled(tmp_path, compiled(tmp_path, "nested", NESTED_AND_TIMED))
    assert profile.process.lock_calls == 602
    assert sum(mutex.acquisitions for mutex in profile.mutexes) == 602
    (timed,) = (mutex for mutex in profile.mutexes if mutex.name == "mutex")
    assert (timed.acquisitions <= 1, timed.contended) == (True, 20)
    (rwlock,) = profile.rwlocks
    assert (rwlock.readers.acquisitions, rwlock.readers.contended) == (0, 20)
    assert (rwlock.writers.acquisitions, rwlock.writers.contended) == (1, 20)


MOVED_CLOCK = """
#include <sys/syscall.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  long result = syscall(SYS_clock_gettime, clock, now);
  now->tv_sec += 100000000;
  return result;
}
"""
SLEEPS_BETWEEN = """
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    usleep(50000);
  }
  return 0;
}
"""


def test_a_clock_that_another_library_replaces(tmp_path: Path) -> None:
    moved = compiled(tmp_path, "moved.so", MOVED_CLOCK, "-shared", "-fPIC")
    program = compiled(tmp_path, "sleeps", SLEEPS_BETWEEN)
    profile = profiled(tmp_path, "sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{moved}" exec {program}')
    assert 1e8 < profile.process.duration < 1e10


def test_a_library_with_a_long_path(tmp_path: Path) -> None:
    directory = tmp_path / ("a" * 200) / ("b" * 200)
    directory.mkdir(parents=True)
    library = compiled(directory, "libplugin.so", PLUGIN, "-shared", "-fPIC")
    profile = profiled(tmp_path, compiled(tmp_path, "host", HOST), library)
    assert [each.name for each in profile.mutexes] == ["plugin_mutex"]


RARE_AND_HOT = """
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t rare[1000];
static void take(pthread_mutex_t *mutex, int times) {
  for (int i = 0; i < times; i++) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
  }
}
int main(void) {
  for (int i = 0; i < 2000; i++) {
    take(&hot, 2000);
    take(&rare[i % 1000], 1);
  }
  return 0;
}
"""


def test_a_mutex_that_was_taken_twice(tmp_path: Path) -> None:
    """A sample of it stands for many acquisitions of another mutex."""
    profile = profiled(tmp_path, compiled(tmp_path, "rare", RARE_AND_HOT))
    taken = {mutex.name: mutex.acquisitions for mutex in profile.mutexes}
    assert sum(taken.values()) == profile.process.lock_calls == 4_002_000
    rarely = {name: count for name, count in taken.items() if name.startswith("rare")}
    assert all(count <= 2 for count in rarely.values()), rarely
