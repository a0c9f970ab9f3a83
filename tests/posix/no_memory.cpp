// The kernel gives no memory, from the first lock on or from a later one on: mutexes continue to
// work, as the C library's do.
#include "../support/check.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cstddef>

namespace {

void limit_memory() {
  const rlimit none{1, 1};
  CHECK(setrlimit(RLIMIT_AS, &none) == 0);
}

// Makes mmap() fail, as a sandbox may.
void deny_mapping() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof steps / sizeof *steps, steps};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

constexpr int threads = 2;
constexpr int times = 100;
constexpr int many = 1'000;

pthread_mutex_t shared[threads] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t waited_for = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
pthread_mutex_t held_together[many];
pthread_mutex_t used_before = PTHREAD_MUTEX_INITIALIZER;
volatile long counts[threads];
int arrived = 0;

// Counts under each mutex, one after the other and all at once, then waits for the other threads.
void contend(int thread) {
  for (int i = 0; i < times; ++i) {
    pthread_mutex_t& mutex = shared[(thread + i) % threads];
    volatile long& count = counts[(thread + i) % threads];
    OK(pthread_mutex_lock(&mutex));
    count = count + 1;
    if (i % 16 == 0) sched_yield();
    CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
  for (pthread_mutex_t& mutex : shared) OK(pthread_mutex_lock(&mutex));
  for (volatile long& count : counts) count = count + 1;
  for (pthread_mutex_t& mutex : shared) OK(pthread_mutex_unlock(&mutex));
  OK(pthread_mutex_lock(&waited_for));
  ++arrived;
  OK(pthread_cond_broadcast(&changed));
  while (arrived != threads) OK(pthread_cond_wait(&changed, &waited_for));
  OK(pthread_mutex_unlock(&waited_for));
}

// Uses a new mutex of each type, and holds more at the same time than programs do.
void hold_many() {
  for (const int type : check::all_types) {
    check::Mutex mutex{type};
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
  }
  for (pthread_mutex_t& mutex : held_together) OK(pthread_mutex_lock(&mutex));
  for (pthread_mutex_t& mutex : held_together) OK(pthread_mutex_unlock(&mutex));
}

// Runs in a new process, in which no thread has locked yet. Its threads are created first, because
// they need memory.
void works_without(void (*deny_memory)(), bool after_some) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (after_some) {
      OK(pthread_mutex_lock(&used_before));
      OK(pthread_mutex_unlock(&used_before));
    }
    static check::Gate go;
    std::vector<std::unique_ptr<check::Worker>> workers;
    for (int i = 0; i < threads; ++i)
      workers.push_back(std::make_unique<check::Worker>([i](check::Worker&) {
        go.pass();
        contend(i);
      }));
    deny_memory();
    CHECK(mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    hold_many();
    go.open();
    for (auto& worker : workers) worker->join();
    for (volatile long& count : counts) CHECK_EQ(times + threads, count);
    OK(pthread_mutex_lock(&used_before));
    OK(pthread_mutex_unlock(&used_before));
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) check::fail_at(__FILE__, __LINE__, "signal %d", WTERMSIG(status));
  CHECK_EQ(0, WEXITSTATUS(status));
}

CASE("none from the start") { works_without(limit_memory, false); };
CASE("none after the first lock") { works_without(limit_memory, true); };
CASE("no mapping from the start") { works_without(deny_mapping, false); };
CASE("no mapping after the first lock") { works_without(deny_mapping, true); };

}  // namespace
