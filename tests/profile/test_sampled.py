"""Waits of which no interposition sees any, against the figures that the programs print."""

import json
import shutil
from pathlib import Path

import pytest
from lockwright.profile import record
from lockwright.profile.frames import Frame
from lockwright.profile.record import Profile
from lockwright.profile.sampled_names import wrapper_count
from lockwright.profile.waiting import WaitObject
from support import locate
from support.processes import captured, compiled

pytestmark = [
    locate.native,
    pytest.mark.alone("the time that a sample stands for is only right if it comes in time"),
]

_NEAR = 0.3
"""Relative error of the time of some 60 samples or more, that depend on each other."""

_HEAD = """
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static long long now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static _Atomic long long waited;
/* Of the time of this thread, that without running or being ready to. */
static long long asleep(void) {
  char text[99] = "";
  const int file = open("/proc/thread-self/schedstat", O_RDONLY);
  if (read(file, text, sizeof text - 1) < 1) abort();
  close(file);
  char *end;
  const long long ran = strtoll(text, &end, 10), ready = strtoll(end, NULL, 10);
  return now(CLOCK_MONOTONIC) - ran - ready;
}
"""

_STATIC = """
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void take(void) {
  const long long begin = asleep();
  pthread_mutex_lock(&wanted);
  waited += asleep() - begin;
}
static void *contend(void *unused) {
  (void)unused;
  for (int i = 0; i < 25; ++i) {
    take();
    usleep(20000);
    pthread_mutex_unlock(&wanted);
    usleep(5000);
  }
  return NULL;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, contend, NULL);
  contend(NULL);
  pthread_join(other, NULL);
  printf("[%lld]\\n", (long long)waited);
}
"""

_SPINNING = """
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;
static void *take(void *unused) { pthread_mutex_lock(&wanted); return unused; }
int main(void) {
  pthread_mutex_lock(&wanted);
  pthread_t other[2];
  for (int i = 0; i < 2; ++i) pthread_create(&other[i], NULL, take, NULL);
  while (now(CLOCK_THREAD_CPUTIME_ID) < 600000000) {
  }
  puts("[]");
}
"""

_OPENMP = """
__attribute__((noinline)) static void step(int thread) {
  if (thread == 0) usleep(20000);
  const long long begin = asleep();
#pragma omp barrier
  if (thread != 0) waited += asleep() - begin;
}
#include <omp.h>
int main(void) {
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 40; ++i) step(omp_get_thread_num());
  printf("[%lld]\\n", (long long)waited);
}
"""

_CRITICAL = """
__attribute__((noinline)) static void enter(void) {
  const long long begin = asleep();
#pragma omp critical(ledger)
  {
    waited += asleep() - begin;
    usleep(5000);
  }
}
int main(void) {
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 50; ++i) enter();
  printf("[%lld]\\n", (long long)waited);
}
"""

_STREAM = """
static FILE *out;
static void *put(void *unused) {
  for (int i = 0; i < 300000; ++i) fputc('a', out);
  return unused;
}
int main(void) {
  out = fopen("/dev/null", "w");
  setvbuf(out, NULL, _IONBF, 0);
  pthread_t each[4];
  for (int i = 0; i < 4; ++i) pthread_create(&each[i], NULL, put, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(each[i], NULL);
  puts("[]");
}
"""

_WORKERS = """
#include <sys/mman.h>
#include <sys/wait.h>
struct shared { pthread_mutex_t turn; _Atomic long long waited; };
static struct shared *all;
__attribute__((noinline)) static void serve(void) {
  const long long begin = asleep();
  pthread_mutex_lock(&all->turn);
  all->waited += asleep() - begin;
  usleep(10000);
  pthread_mutex_unlock(&all->turn);
}
int main(void) {
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&all->turn, &attributes);
  for (int i = 0; i < 3; ++i) {
    if (fork() != 0) continue;
    for (int k = 0; k < 40; ++k) serve();
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
  printf("[%lld]\\n", (long long)all->waited);
}
"""

_ARENA = """
enum { threads = 5, chunks = 400000 };
static void *held[chunks];
static atomic_int is_over;
static void *allocate(void *unused) {
  (void)unused;
  while (!is_over) {
    const long long begin = asleep();
    void *volatile chunk = malloc(5000);
    free(chunk);
    waited += asleep() - begin;
    usleep(2000);
  }
  return NULL;
}
int main(void) {
  mallopt(M_ARENA_MAX, 1);
  for (int i = 0; i < chunks; ++i) held[i] = malloc(160);
  for (int i = 0; i < chunks; i += 2) free(held[i]);
  pthread_t each[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&each[i], NULL, allocate, NULL);
  const long long begin = now(CLOCK_MONOTONIC);
  while (now(CLOCK_MONOTONIC) - begin < 1500000000) {
    for (int i = 0; i < 8; ++i) mallinfo2();  /* goes through the free chunks with the lock */
    usleep(500);
  }
  is_over = 1;
  for (int i = 0; i < threads; ++i) pthread_join(each[i], NULL);
  printf("[%lld]\\n", (long long)waited);
}
"""


def profiled(program: Path, folder: Path, *arguments: str) -> tuple[list[int], Profile, str]:
    """Return what a program prints, its profile, and the summary."""
    path = folder / "profile.json"
    done = captured([locate.lockwright(), "profile", "-o", path, "--", program, *arguments])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), record.read(path), done.stderr


def named(profile: Profile, name: str) -> WaitObject:
    (found,) = (each for each in profile.waits if each.name.split("::")[-1] == name)
    assert found.samples > 0
    assert found.is_futex
    return found


def waiting(profile: Profile, kind: str) -> float:
    """Return the ns of a kind in the account, which adds up."""
    for times in (profile.account.all, *(role.times for role in profile.account.roles)):
        parts = times.running + times.runnable + times.sleeping + sum(times.waiting.values())
        assert parts == pytest.approx(times.lived, rel=0.02)
    return 1e9 * {str(each): s for each, s in profile.account.all.waiting.items()}.get(kind, 0.0)


def test_inline_calls_and_locks_of_the_c_library(tmp_path: Path) -> None:
    """The holder of a word is known where the memory has its number."""
    program = compiled(tmp_path, "sampled", (Path(__file__).parent / "sampled.c").read_text())
    written = tmp_path / "written"
    true, profile, summary = profiled(program, tmp_path, str(written))
    names = ("word", "inherited", f"stdio stream of {written}")
    sites = ("wait_for_word", "take_inherited", "write_to_stream")
    for name, site, waited in zip(names, sites, true, strict=True):
        found = named(profile, name)
        assert found.waited == pytest.approx(waited, rel=_NEAR), name
        assert 5 < found.waits <= 25
        assert any(site in frame.symbol for frame in found.waiters[0].stack[:5])
        assert found.waiters[0].label.startswith(site) or name == "word"  # called by its futex()
        assert [holder.doing for holder in found.holders[:1]] == (
            [] if name == "word" else ["asleep in clock_nanosleep"]
        )
    assert waiting(profile, "futex") == pytest.approx(true[0], rel=_NEAR)
    assert waiting(profile, "lock") == pytest.approx(true[1] + true[2], rel=_NEAR)
    assert "samples)" in summary
    assert not profile.processes[0].is_sampled


def test_a_static_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, "static", _HEAD + _STATIC, "-static")
    (waited,), profile, summary = profiled(program, tmp_path)
    found = named(profile, "wanted")
    assert (found.kind, found.library) == ("lock", "")
    assert found.waited == pytest.approx(waited, rel=_NEAR)
    assert "take" in found.waiters[0].label
    assert found.holders[0].doing == "asleep in clock_nanosleep"
    assert waiting(profile, "lock") == pytest.approx(waited, rel=_NEAR)
    assert [(each.program, each.is_sampled) for each in profile.processes] == [("static", True)]
    assert "statically linked" in summary
    assert profile.partial == "known from samples from outside only: 'static'"


def test_a_holder_that_runs(tmp_path: Path) -> None:
    """Beside other programs it is also ready to run."""
    program = compiled(tmp_path, "spinning", _HEAD + _SPINNING, "-static")
    _, profile, _ = profiled(program, tmp_path)
    found = named(profile, "wanted")
    assert found.waits == 2
    assert sum(holder.samples for holder in found.holders) == found.samples
    doing = {holder.doing for holder in found.holders if holder.samples > 4}
    assert "running" in doing
    assert doing <= {"running", "ready to run, without a processor"}


def test_a_barrier_of_openmp(tmp_path: Path) -> None:
    program = compiled(tmp_path, "openmp", _HEAD + _OPENMP, "-fopenmp", "-O1")
    (waited,), profile, _ = profiled(program, tmp_path)
    found = next(each for each in profile.waits if "step" in each.waiters[0].label)
    assert (found.kind, found.library) == ("barrier", "libgomp")
    assert found.waited == pytest.approx(waited, rel=_NEAR)


def test_malloc_with_one_arena(tmp_path: Path) -> None:
    program = compiled(tmp_path, "arena", _HEAD + _ARENA, "-O1")
    (waited,), profile, _ = profiled(program, tmp_path)
    found = profile.waits[0]
    assert (found.kind, found.library) == ("lock", "C library")
    assert found.name == "malloc: main arena"
    assert found.waited == pytest.approx(waited, rel=_NEAR)
    assert "allocate" in found.waiters[0].label


def test_a_critical_section_of_openmp(tmp_path: Path) -> None:
    program = compiled(tmp_path, "critical", _HEAD + _CRITICAL, "-fopenmp", "-O1")
    (waited,), profile, _ = profiled(program, tmp_path)
    found = profile.waits[0]
    assert (found.name, found.kind, found.library) == ("critical section ledger", "lock", "libgomp")
    assert found.waited == pytest.approx(waited, rel=_NEAR)
    assert "enter" in found.waiters[0].label
    assert waiting(profile, "lock") == pytest.approx(waited, rel=_NEAR)


def test_one_stream_of_four_threads(tmp_path: Path) -> None:
    program = compiled(tmp_path, "stream", _HEAD + _STREAM)
    _, profile, summary = profiled(program, tmp_path)
    found = next(each for each in profile.waits if each.kind != "join")
    assert (found.name, found.library) == ("stdio stream of /dev/null", "C library")
    assert found.samples > 0
    assert "put" in found.waiters[0].label
    assert "stdio stream of /dev/null" in summary


def test_workers_with_a_mutex_of_all_processes(tmp_path: Path) -> None:
    """One of them holds it for the others."""
    program = compiled(tmp_path, "workers", _HEAD + _WORKERS)
    (waited,), profile, _ = profiled(program, tmp_path)
    found = profile.waits[0]
    assert (found.kind, found.library) == ("lock", "")
    assert "serve" in found.name
    assert found.waited == pytest.approx(waited, rel=_NEAR)
    assert found.holders[0].doing == "asleep in clock_nanosleep"
    assert {holder.number for holder in found.holders} <= {each.pid for each in profile.processes}
    assert len({holder.number for holder in found.holders}) == 3
    assert [(role.name, role.times.threads) for role in profile.account.roles] == [("main", 4)]
    assert waiting(profile, "lock") == pytest.approx(waited, rel=_NEAR)
    assert "'workers' (3 processes)" in profile.partial


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go")
def test_a_program_of_go(tmp_path: Path) -> None:
    (tmp_path / "sleep.go").write_text(
        'package main\nimport ("syscall"; "time")\n'
        'func main() { time.Sleep(time.Second); syscall.Write(1, []byte("[1]")) }\n'
    )
    built = captured(
        ["go", "build", "-o", "sleep", "sleep.go"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": str(Path(shutil.which("go") or "").parent)},
    )
    assert built.returncode == 0, built.stderr
    _, profile, summary = profiled(tmp_path / "sleep", tmp_path)
    (found,) = profile.waits
    assert (found.name, found.library) == ("threads without work", "Go")
    assert found.waiters[0].label.startswith("runtime.")
    assert waiting(profile, "thread") > 0
    assert "Go program" in summary


def test_functions_of_libraries_are_no_sites() -> None:
    stack = [
        Frame("/lib/libc.so.6", 1),
        Frame("/lib/libc.so.6", 1, "malloc"),
        Frame("program", 1, "main"),
        Frame("/lib/libc.so.6", 1),
    ]
    assert wrapper_count(stack) == 2
    assert wrapper_count([Frame("program", 1, "__lll_lock_wait"), *stack[2:]]) == 1
