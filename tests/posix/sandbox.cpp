// Sandboxes that end the process for every system call but those that the C library's locks make,
// and threads that may not read the processor's clock. They begin at different moments, in all
// threads or in one.
#include "../support/check.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <csignal>
#include <cstddef>

namespace {

// Calls of the C library's locks, of threads that end, and of this program.
constexpr long allowed[] = {SYS_futex,      SYS_write,           SYS_exit,
                            SYS_exit_group, SYS_clock_nanosleep, SYS_madvise,
                            SYS_munmap,     SYS_rt_sigprocmask,  SYS_rt_sigreturn};
// Calls that locks could make, in a sandbox in which a program starts.
constexpr long forbidden_at_start[] = {
    SYS_sched_yield, SYS_sched_getaffinity, SYS_getpid,      SYS_gettid,
    SYS_getcpu,      SYS_membarrier,        SYS_getrusage,   SYS_nanosleep,
    SYS_prctl,       SYS_clock_gettime,     SYS_gettimeofday};

sock_filter jump_if(long call, unsigned char steps) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), steps, 0);
}

// Ends the process at a call that is listed (`kills`), or at one that is not.
template <std::size_t Number>
std::vector<sock_filter> filter_of(const long (&calls)[Number], bool kills) {
  std::vector<sock_filter> steps{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (std::size_t i = 0; i < Number; ++i)
    steps.push_back(jump_if(calls[i], static_cast<unsigned char>(Number - i)));
  const unsigned kill = SECCOMP_RET_KILL_PROCESS;
  const unsigned allow = SECCOMP_RET_ALLOW;
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, kills ? allow : kill));
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, kills ? kill : allow));
  return steps;
}

void install(std::vector<sock_filter> steps) {
  const sock_fprog filter{.len = static_cast<unsigned short>(steps.size()), .filter = steps.data()};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

void restrict_all() { install(filter_of(allowed, false)); }

void restrict_caller() {
  std::vector<sock_filter> steps = filter_of(allowed, false);
  const sock_fprog filter{.len = static_cast<unsigned short>(steps.size()), .filter = steps.data()};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

void nothing() {}

constexpr int threads = 2;
constexpr int rounds = 10;

struct Objects {
  pthread_mutex_t mutexes[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
  pthread_mutex_t& mutex = mutexes[0];
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  timespec soon{};  // a deadline that passes
  int turn = 0;
  int counts[3]{};
};

// One thread holds each mutex for longer than the others poll, or yield. The C library reads the
// processor's clock for a contended adaptive mutex.
void contend(Objects& objects, int self) {
  for (int i = 0; i < 3 * rounds; ++i) {
    pthread_mutex_t& each = objects.mutexes[i / rounds];
    OK(pthread_mutex_lock(&each));
    if (i % threads == self) check::sleep_us(300);
    ++objects.counts[i / rounds];
    OK(pthread_mutex_unlock(&each));
  }
  OK(pthread_mutex_lock(&objects.mutex));
  for (int i = 0; i < rounds; ++i) {
    while (objects.turn % threads != self) OK(pthread_cond_wait(&objects.changed, &objects.mutex));
    ++objects.turn;
    OK(pthread_cond_broadcast(&objects.changed));
  }
  if (objects.turn % threads == self)
    CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&objects.changed, &objects.mutex, &objects.soon));
  OK(pthread_mutex_unlock(&objects.mutex));
  const int result = pthread_mutex_timedlock(&objects.mutex, &objects.soon);
  CHECK(result == 0 || result == ETIMEDOUT);
  if (result == 0) OK(pthread_mutex_unlock(&objects.mutex));
  for (int i = 0; i < rounds; ++i) {
    OK(i % 2 == 0 ? pthread_rwlock_rdlock(&objects.rwlock)
                  : pthread_rwlock_wrlock(&objects.rwlock));
    OK(pthread_rwlock_unlock(&objects.rwlock));
  }
}

// Uses each type of mutex as its owner and as another thread, and semaphores.
void use_each_type() {
  Objects objects;
  for (pthread_mutex_t& each : objects.mutexes) {
    OK(pthread_mutex_lock(&each));
    CHECK_RC(EBUSY, check::in_thread([&] { return pthread_mutex_trylock(&each); }));
    const timespec soon = check::after_ms(CLOCK_REALTIME, 2);
    CHECK_RC(ETIMEDOUT, check::in_thread([&] { return pthread_mutex_timedlock(&each, &soon); }));
    OK(pthread_mutex_unlock(&each));
    OK(pthread_mutex_trylock(&each));
    OK(pthread_mutex_unlock(&each));
  }
  for (pthread_mutex_t* each : {&objects.mutexes[1], &objects.mutexes[2]}) {
    OK(pthread_mutex_lock(each));
    CHECK_RC(each == &objects.mutexes[1] ? 0 : EDEADLK, pthread_mutex_lock(each));
    if (each == &objects.mutexes[1]) OK(pthread_mutex_unlock(each));
    OK(pthread_mutex_unlock(each));
    CHECK_RC(EPERM, pthread_mutex_unlock(each));
  }
  sem_t semaphore;
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  check::in_parallel(
      2, [&](int self) { CHECK((self == 0 ? sem_wait(&semaphore) : sem_post(&semaphore)) == 0); });
}

// Runs `body` in a new process, which has to end by itself.
template <class Body>
void in_a_process(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) check::fail_at(__FILE__, __LINE__, "signal %d", WTERMSIG(status));
  CHECK_EQ(0, WEXITSTATUS(status));
}

// The threads exist before the sandbox begins, and call `first` before and `then` within it.
template <class First, class Begin>
void contend_in(First first, Begin begin, void (*begin_each)() = nothing) {
  check::Gate go;
  Objects objects;
  objects.soon = check::after_ms(CLOCK_REALTIME, 5);
  std::atomic<int> ready{0};
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
      first(i);
      ready.fetch_add(1);
      go.pass();
      begin_each();
      contend(objects, i);
    }));
  check::wait_until([&] { return ready.load() == threads; });
  begin();
  go.open();
  for (auto& worker : workers) worker->join();
  for (const int count : objects.counts) CHECK_EQ(threads * rounds, count);
}

void lock_one(int) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  OK(pthread_mutex_lock(&mutex));
  OK(pthread_mutex_unlock(&mutex));
}

void contend_before(int self) {
  static Objects before;
  static std::atomic<int> arrived{0};
  arrived.fetch_add(1);
  check::wait_until([] { return arrived.load() == threads; });
  before.soon = check::after_ms(CLOCK_REALTIME, 5);
  contend(before, self);
}

// The first case: the others find a process that has locked.
CASE("contention") { contend_in(lock_one, nothing); };

CASE("before the first lock") {
  in_a_process([] { contend_in([](int) {}, restrict_all); });
};
CASE("after the first lock") {
  in_a_process([] { contend_in(lock_one, restrict_all); });
};
CASE("after contention") {
  in_a_process([] { contend_in(contend_before, restrict_all); });
};
CASE("in each thread") {
  in_a_process([] { contend_in(lock_one, nothing, restrict_caller); });
};

// It begins while threads wait in every way in which a lock lets them wait.
CASE("among waiters") {
  for (int i = 0; i < 4; ++i)
    in_a_process([i] {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      long count = 0;
      std::atomic<int> started{0};
      std::vector<std::unique_ptr<check::Worker>> workers;
      for (int k = 0; k < threads; ++k)
        workers.push_back(std::make_unique<check::Worker>([&](check::Worker&) {
          started.fetch_add(1);
          for (int n = 0; n < 20; ++n) {
            OK(pthread_mutex_lock(&mutex));
            ++count;
            if (n % 8 == 0) check::sleep_us(100);
            OK(pthread_mutex_unlock(&mutex));
          }
        }));
      check::wait_until([&] { return started.load() == threads; });
      check::sleep_us(300 * i);
      restrict_all();
      for (auto& worker : workers) worker->join();
      CHECK_EQ(threads * 20, count);
    });
};

// Allows read(), write(), exit() and sigreturn() only, and no reading of the processor's clock.
CASE("strict") {
  in_a_process([] {
    static pthread_mutex_t mutexes[100];
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (pthread_mutex_t& each : mutexes) OK(pthread_mutex_lock(&each));
    CHECK_RC(EBUSY, pthread_mutex_trylock(&mutexes[0]));
    OK(pthread_cond_signal(&changed));
    for (pthread_mutex_t& each : mutexes) OK(pthread_mutex_unlock(&each));
    syscall(SYS_exit, 0);
  });
};

#if defined(__x86_64__)
void forbid_clock() { CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0); }

CASE("without a clock") {
  in_a_process([] { contend_in(lock_one, nothing, forbid_clock); });
};
CASE("without a clock, within a filter") {
  in_a_process([] {
    contend_in(lock_one, nothing, [] {
      forbid_clock();
      restrict_caller();
    });
  });
};
#endif

char self[] = "/proc/self/exe";
char use[] = "everything";
char* const again[] = {self, use, nullptr};

// Also in a child, which uses a mutex that its parent holds.
CASE(use) {
  use_each_type();
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  OK(pthread_mutex_lock(&held));
  in_a_process([&] {
    OK(pthread_mutex_unlock(&held));
    OK(pthread_mutex_lock(&held));
    use_each_type();
    contend_in(lock_one, nothing);
  });
  OK(pthread_mutex_unlock(&held));
};

CASE("before it starts") {
  in_a_process([] {
    // The started program's output is discarded.
    CHECK(freopen("/dev/null", "w", stdout) != nullptr);
    install(filter_of(forbidden_at_start, true));
    execv(self, again);
  });
};

// Programs ask so whether the kernel knows filters.
CASE("asking for filters") {
  in_a_process([] {
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) == -1 && errno == EFAULT);
    CHECK(prctl(PR_GET_SECCOMP) == 0);
    CHECK(syscall(SYS_getpid) == getpid());
    contend_in(lock_one, restrict_all);
  });
};

}  // namespace
