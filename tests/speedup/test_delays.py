"""The delays that threads owe, pay and are forgiven, as their program makes them."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from lockwright.preload import locks
from lockwright.preload.layouts import layouts
from lockwright.profile import buffer as buffers
from lockwright.profile.buffer import Buffer
from lockwright.speedup.block import Block
from lockwright.speedup.measure import LIBRARY
from lockwright.speedup.windows import NO_WAITS
from support import locate, processes

pytestmark = locate.native

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t chosen = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t known;
static sem_t posted;
static int ready, is_over, tids[4];

static void take(pthread_mutex_t *mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

// With a mutex of its own: for another one it might have to wait by the clock of its last holder.
static void pay(void) {
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  take(&own);
}

// Woken by the thread with the sections, at the end of the last one.
static void *wait_for_signal(void *unused) {
  tids[1] = gettid();
  take(&other);
  pthread_barrier_wait(&known);
  pthread_mutex_lock(&other);
  ready = 1;
  while (!is_over) pthread_cond_wait(&cond, &other);
  pthread_mutex_unlock(&other);
  return unused;
}

static void *wait_for_post(void *unused) {
  tids[2] = gettid();
  take(&other);
  pthread_barrier_wait(&known);
  sem_wait(&posted);
  pay();
  return unused;
}

// Waits for nothing but time.
static void *sleep_on(void *unused) {
  tids[3] = gettid();
  take(&other);
  pthread_barrier_wait(&known);
  struct timespec step = {0, 10000000};
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) nanosleep(&step, NULL);
  pay();
  return unused;
}

int main(void) {
  tids[0] = gettid();
  void *(*roles[])(void *) = {wait_for_signal, wait_for_post, sleep_on};
  pthread_t threads[3];
  pthread_barrier_init(&known, NULL, 4);
  take(&chosen);
  take(&other);
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, roles[i], NULL);
  pthread_barrier_wait(&known);
  for (int is_ready = 0; !is_ready; usleep(1000)) {
    pthread_mutex_lock(&other);
    is_ready = ready;
    pthread_mutex_unlock(&other);
  }
  usleep(50000);  // until the other one sleeps, too
  printf("%p %d %d %d %d\n", (void *)&chosen, tids[0], tids[1], tids[2], tids[3]);
  fflush(stdout);
  getchar();
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&chosen);
    usleep(2000);
    if (i == 9) {
      pthread_mutex_lock(&other);
      __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
      pthread_cond_signal(&cond);
      pthread_mutex_unlock(&other);
    }
    pthread_mutex_unlock(&chosen);
  }
  sem_post(&posted);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  puts("right");
  return 0;
}
"""
EARLY = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t chosen = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int is_held, may_leave, tids[2];

static void take(pthread_mutex_t *mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

static void await(int *flag) {
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) usleep(100);
}

// Owes for the sections when it releases its mutex.
static void *hold(void *unused) {
  tids[1] = gettid();
  take(&other);
  pthread_mutex_lock(&other);
  __atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
  await(&may_leave);
  pthread_mutex_unlock(&other);
  return unused;
}

int main(void) {
  tids[0] = gettid();
  pthread_t thread;
  take(&chosen);
  pthread_create(&thread, NULL, hold, NULL);
  await(&is_held);
  printf("%p %d %d\n", (void *)&chosen, tids[0], tids[1]);
  fflush(stdout);
  getchar();
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&chosen);
    usleep(40000);
    pthread_mutex_unlock(&chosen);
  }
  __atomic_store_n(&may_leave, 1, __ATOMIC_RELEASE);
  // Without a wait for the mutex.
  while (__atomic_load_n(&other.__data.__lock, __ATOMIC_ACQUIRE)) usleep(100);
  take(&other);
  take(&other);
  pthread_join(thread, NULL);
  puts("right");
  return 0;
}
"""
ANOTHER = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t chosen = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int begins, is_over;

static void take(pthread_mutex_t *mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

static void *work(void *unused) {
  while (!__atomic_load_n(&begins, __ATOMIC_ACQUIRE)) usleep(100);
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&other);
    usleep(2000);
    pthread_mutex_unlock(&other);
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  return unused;
}

int main(void) {
  pthread_t thread;
  take(&chosen);
  take(&other);
  pthread_create(&thread, NULL, work, NULL);
  printf("%p %p %d\n", (void *)&chosen, (void *)&other, gettid());
  fflush(stdout);
  getchar();
  pthread_mutex_lock(&chosen);
  puts("held");
  fflush(stdout);
  getchar();
  pthread_mutex_unlock(&chosen);
  __atomic_store_n(&begins, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) usleep(100);
  take(&chosen);
  pthread_join(thread, NULL);
  puts("right");
  return 0;
}
"""
WAITING = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t chosen = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int may_wait, tids[2];

static void take(pthread_mutex_t *mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

static void await(int *flag) {
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) usleep(100);
}

static void *wait_for_it(void *unused) {
  tids[1] = gettid();
  take(&other);
  __atomic_store_n(&may_wait, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&may_wait, __ATOMIC_ACQUIRE) != 2) usleep(100);
  take(&chosen);
  return unused;
}

int main(void) {
  tids[0] = gettid();
  pthread_t thread;
  take(&chosen);
  take(&other);
  pthread_create(&thread, NULL, wait_for_it, NULL);
  await(&may_wait);
  printf("%p %d %d\n", (void *)&chosen, tids[0], tids[1]);
  fflush(stdout);
  getchar();
  pthread_mutex_lock(&chosen);
  __atomic_store_n(&may_wait, 2, __ATOMIC_RELEASE);
  while (chosen.__data.__lock < 2) usleep(100);  // until it waits
  usleep(100000);
  pthread_mutex_unlock(&chosen);
  pthread_join(thread, NULL);
  take(&other);
  puts("right");
  return 0;
}
"""
SECTIONS = 10


@contextmanager
def started(program: Path) -> Iterator[tuple[Buffer, Block, "subprocess.Popen[str]"]]:
    """Start a program under the library of experiments, with its buffer; it ends with the block."""
    with buffers.new() as path:
        environment = locks.preload(locks.directory() / LIBRARY, {}, program)
        with subprocess.Popen(
            [program],
            env=environment | {buffers.VARIABLE: str(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            yield Buffer(path), Block(path), process


def words(process: "subprocess.Popen[str]") -> list[str]:
    """Return the words of the program's next line."""
    assert process.stdout is not None
    return process.stdout.readline().split()


def choose(buffer: Buffer, block: Block, address: str, share: int, most: float) -> None:
    """Make sections of the mutex at an address `share` per cent shorter."""
    (record,) = np.flatnonzero(buffer.records["address"] == int(address, 16)).tolist()
    block.choose([record], [record])
    block.begin(share, most)


def run(program: Path, share: int, most: float) -> tuple[Buffer, list[tuple[int, int]]]:
    """Return the buffer of the program, whose sections are `share` per cent shorter, and what its
    threads paid and were forgiven, in the order of their roles."""
    with started(program) as (buffer, block, process):
        address, *tids = words(process)
        choose(buffer, block, address, share, most)
        assert process.communicate("\n", timeout=60)[0] == "right\n"
        assert process.returncode == 0
        threads = [buffer.threads[buffer.threads["tid"] == int(tid)][0] for tid in tids]
        accounts = [(int(each["delays_paid"]), int(each["delays_forgiven"])) for each in threads]
        return buffer, accounts


def test_what_each_thread_pays(tmp_path: Path) -> None:
    program = processes.compiled(tmp_path, "delays", PROGRAM)
    buffer, accounts = run(program, 50, 1e12)
    assert int(buffer["running"]["progress"]) == SECTIONS
    # Half of each section, of at least 2 ms. A delay lasts as long as is owed, or longer.
    least = 0.99 * SECTIONS * 1e6 / buffer.nanoseconds
    owed = int(buffer["running"]["owed"])
    assert owed >= least
    # Nothing is both forgiven and paid.
    assert all(least <= sum(account) <= owed for account in accounts)
    # Own sections are forgiven, and so is a wait for a thread that is not behind, up to a signal
    # within the section, too, whose rest may last long; but not a wait for time.
    assert all(forgiven >= least for _, forgiven in accounts[:3])
    assert accounts[3][0] > 0


def test_nothing_is_owed_in_a_control_or_beyond_the_limit(tmp_path: Path) -> None:
    program = processes.compiled(tmp_path, "delays", PROGRAM)
    for share, most in ((0, 1e12), (50, 0)):
        buffer, accounts = run(program, share, most)
        assert int(buffer["running"]["owed"]) == 0
        assert int(buffer["running"]["progress"]) == SECTIONS
        assert accounts == [(0, 0)] * 4


def test_a_mutex_is_not_acquired_before_its_release_by_its_holders_clock(tmp_path: Path) -> None:
    """The thread with the sections, 0.2 s behind the real clock, finds a mutex free that another
    one, which is not behind, has just released: it has to pay what its sections had spared it."""
    program = processes.compiled(tmp_path, "early", EARLY)
    buffer, ((paid, _), _) = run(program, 50, 1e12)
    least = SECTIONS * 2e7 / buffer.nanoseconds
    assert paid > least / 4


def test_the_time_of_a_wait_that_counts_as_none_is_owed_by_others(tmp_path: Path) -> None:
    """A wait of 0.1 s, which the thread that waited is forgiven, and the other one pays."""
    program = processes.compiled(tmp_path, "waiting", WAITING)
    buffer, ((paid, lacked), (paid_by_waiter, forgiven)) = run(program, NO_WAITS, 1e12)
    least = 1e8 / buffer.nanoseconds
    assert forgiven >= 0.9 * least
    assert paid_by_waiter < 0.1 * least
    assert int(buffer["running"]["owed"]) >= 0.9 * least
    # What it owes for a time without a processor is forgiven.
    assert paid > 0
    assert paid + lacked >= 0.9 * least
    buffer, ((paid, _), (_, forgiven)) = run(program, 0, 1e12)
    assert (paid, forgiven) == (0, 0)


def test_another_mutex_is_chosen_while_a_thread_holds_the_first_one(tmp_path: Path) -> None:
    """The thread leaves its section as it began it, and pays for those of the other mutex."""
    program = processes.compiled(tmp_path, "another", ANOTHER)
    with started(program) as (buffer, block, process):
        first, second, tid = words(process)
        choose(buffer, block, first, 50, 1e12)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert words(process) == ["held"]
        choose(buffer, block, second, 50, 1e12)
        assert process.communicate("\n", timeout=60)[0] == "right\n"
        (paid,) = buffer.threads[buffer.threads["tid"] == int(tid)]["delays_paid"].tolist()
        assert paid > 0
        assert int(buffer["running"]["progress"]) == 1 + SECTIONS


def test_a_group_has_all_mutexes_of_its_places() -> None:
    with buffers.new() as path:
        kind = layouts().dtype("profile_buffer")
        written = np.memmap(path, kind, "r+", shape=(1,))
        for number, (address, created, taken) in enumerate(
            [(0, 7, 1), (1, 7, 1), (2, 7, 2), (3, 8, 1), (4, 0, 1), (5, 0, 3), (6, 0, 3)]
        ):
            record = written["records"][0][number]
            record["address"], record["init_site"], record["first_site"] = address, created, taken
        written.flush()
        block = Block(path)
        assert block.alike([1]) == [1, 2]
        assert block.alike([1, 5]) == [1, 2, 5, 6]
