"""Tests of several processes: of mutexes the busiest is reported, of other objects all are."""

import json
from pathlib import Path

import pytest
from support import locate
from support.processes import compiled
from support.profiling import profile

pytestmark = locate.native


def test_the_process_with_most_acquisitions_is_reported(tmp_path: Path) -> None:
    profiled, done = profile(tmp_path, locate.program("profile", "processes"))
    assert f"it describes process {profiled.pid}" in profiled.partial
    (mutex,) = profiled.mutexes
    assert mutex.name.endswith("second_mutex")
    assert mutex.type == "recursive"
    assert profiled.process.lock_calls == mutex.acquisitions == 300
    others = (
        "2 other processes that took mutexes are not included (at most 34 acquisitions, no waiting)"
    )
    assert others in profiled.partial
    assert others in done.stderr


def test_a_process_that_cannot_create_a_file_is_named(tmp_path: Path) -> None:
    _, done = profile(tmp_path, locate.program("profile", "processes"), "limited")
    first, second = done.stderr.splitlines()
    assert first == "lockwright: the program took no mutex"
    assert "one other process that took mutexes is not included" in second
    assert "may be relevant, but could not create a file" in second


WORKERS = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static sem_t requests;
static _Atomic long long *totals; /* waits, ns */
static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static void *serve(void *unused) {
  for (int i = 0; i < 60; ++i) {
    if (sem_trywait(&requests) == 0) continue;
    const long long begin = now();
    sem_wait(&requests);
    totals[0] += 1, totals[1] += now() - begin;
  }
  return unused;
}
__attribute__((noinline)) static void ask(void) { sem_post(&requests); }
int main(void) {
  totals = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; ++i) {
    if (fork() != 0) continue;
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    for (int k = 0; k < 60; ++k) usleep(20000), ask();
    pthread_join(server, NULL);
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
  printf("[%lld, %lld]\\n", totals[0], totals[1]);
}
"""


@pytest.mark.alone("the time of a thread without a processor is no waiting")
def test_forked_workers_are_merged_by_role(tmp_path: Path) -> None:
    profiled, done = profile(tmp_path, compiled(tmp_path, "workers", WORKERS))
    waits, waited = json.loads(done.stdout)
    (found,) = (each for each in profiled.waits if each.kind == "semaphore")
    assert found.name == "requests"
    # A process other than the first is recorded after 16 waits.
    assert waits - 3 * 20 <= found.waits <= waits
    assert found.waited == pytest.approx(waited * found.waits / waits, rel=0.05)
    assert {site.label.split()[0] for site in found.wakers} == {"ask"}
    servers = [role.times for role in profiled.account.roles if role.name != "main"]
    assert sum(times.threads for times in servers) == 4
    seconds = sum(times.waiting.get("semaphore", 0.0) for times in servers)
    assert 0.7 * waited / 1e9 < seconds < 1.05 * waited / 1e9
    assert len([each for each in profiled.processes if each.program == "workers"]) >= 4
