// What a program can observe of each call, one line a probe: "name: result". Nothing is judged
// here; the test compares what is printed under a lock with what is printed under the C library.
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>

#include "../support/check.hpp"

namespace {

std::string group;

void say(const std::string& name, const std::string& result) {
  std::printf("%s, %s: %s\n", group.c_str(), name.c_str(), result.c_str());
  std::fflush(stdout);
}

void probe(const std::string& name, int error) { say(name, check::error_name(error)); }

// For the calls that return -1 and set errno.
void probe_errno(const std::string& name, int result) {
  say(name, result == 0 ? "0" : check::error_name(errno));
}

void probe_is(const std::string& name, bool is) { say(name, is ? "yes" : "no"); }

// The result of a call in a thread of its own.
template <class Call>
int elsewhere(Call call) {
  int result = -1;
  check::Worker([&](check::Worker&) { result = call(); }).join();
  return result;
}

// The error number with which a child process ends, or "hangs", or the signal that ended it.
std::string end_of(pid_t pid) {
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (WIFEXITED(status)) return check::error_name(WEXITSTATUS(status));
  return WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status));
}

// What a call gives in a child process.
template <class Call>
std::string in_child(Call call) {
  std::fflush(stdout);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(10);
    _exit(call());
  }
  return end_of(pid);
}

const timespec past{1, 0};
const timespec long_past{-1, 0};
const timespec too_many{1, 1'000'000'000};
const timespec negative{1, -1};

timespec soon(clockid_t clock = CLOCK_REALTIME) { return check::after_ms(clock, 2); }

// --- Mutexes ------------------------------------------------------------------------------------

struct Kind {
  int type = PTHREAD_MUTEX_DEFAULT;
  int shared = PTHREAD_PROCESS_PRIVATE;
  int robust = PTHREAD_MUTEX_STALLED;
  int protocol = PTHREAD_PRIO_NONE;

  [[nodiscard]] std::string name() const {
    std::string text = check::type_name(type);
    if (shared == PTHREAD_PROCESS_SHARED) text += " shared";
    if (robust == PTHREAD_MUTEX_ROBUST) text += " robust";
    if (protocol == PTHREAD_PRIO_INHERIT) text += " inheriting";
    if (protocol == PTHREAD_PRIO_PROTECT) text += " protecting";
    return text;
  }

  int init(pthread_mutex_t* mutex) const {
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, type));
    OK(pthread_mutexattr_setpshared(&attributes, shared));
    OK(pthread_mutexattr_setrobust(&attributes, robust));
    OK(pthread_mutexattr_setprotocol(&attributes, protocol));
    const int result = pthread_mutex_init(mutex, &attributes);
    OK(pthread_mutexattr_destroy(&attributes));
    return result;
  }

  [[nodiscard]] bool knows_owner() const {
    return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
  }
};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const int type : check::all_types)
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED})
      for (const int robust : {PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST})
        for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT})
          kinds.push_back(Kind{type, shared, robust, protocol});
  return kinds;
}

// `mutex` is free when this begins and when it ends.
void use(pthread_mutex_t* mutex, const Kind& kind) {
  const bool checks = kind.knows_owner();
  if (const int result = pthread_mutex_lock(mutex); result != 0) {
    probe("lock", result);  // a ceiling that this process may not have
    return;
  }
  probe("trylock by the owner", pthread_mutex_trylock(mutex));
  if (kind.type == PTHREAD_MUTEX_RECURSIVE) probe("and unlock", pthread_mutex_unlock(mutex));
  if (checks) probe("lock by the owner", pthread_mutex_lock(mutex));
  if (kind.type == PTHREAD_MUTEX_RECURSIVE) probe("and unlock", pthread_mutex_unlock(mutex));
  // A priority-inheriting one that its owner waits for is for the kernel to judge.
  if (checks || kind.protocol != PTHREAD_PRIO_INHERIT) {
    const int timed = pthread_mutex_timedlock(mutex, &past);
    probe("timedlock by the owner", timed);
    if (timed == 0) probe("and unlock", pthread_mutex_unlock(mutex));
    const timespec when = soon(CLOCK_MONOTONIC);
    const int clocked = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &when);
    probe("clocklock by the owner", clocked);
    if (clocked == 0) probe("and unlock", pthread_mutex_unlock(mutex));
  }
  probe("trylock by another", elsewhere([&] { return pthread_mutex_trylock(mutex); }));
  for (const timespec& when : {past, long_past, too_many, negative})
    probe("timedlock by another until " + std::to_string(when.tv_sec) + " " +
              std::to_string(when.tv_nsec),
          elsewhere([&] { return pthread_mutex_timedlock(mutex, &when); }));
  probe("timedlock by another", elsewhere([&] {
          const timespec when = soon();
          return pthread_mutex_timedlock(mutex, &when);
        }));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, clockid_t{77}})
    probe("clocklock by another with clock " + std::to_string(clock), elsewhere([&] {
            const timespec when = past;
            return pthread_mutex_clocklock(mutex, clock, &when);
          }));
  if (checks || kind.robust == PTHREAD_MUTEX_ROBUST)
    probe("unlock by another", elsewhere([&] { return pthread_mutex_unlock(mutex); }));
  probe("consistent while held", pthread_mutex_consistent(mutex));
  int ceiling = 0;
  probe("getprioceiling", pthread_mutex_getprioceiling(mutex, &ceiling));
  if (kind.robust == PTHREAD_MUTEX_STALLED) {
    probe("destroy while held", pthread_mutex_destroy(mutex));
    probe("destroy while another holds it",
          elsewhere([&] { return pthread_mutex_destroy(mutex); }));
  }
  probe("unlock", pthread_mutex_unlock(mutex));
  if (checks || kind.robust == PTHREAD_MUTEX_ROBUST)
    probe("unlock when free", pthread_mutex_unlock(mutex));
  probe("consistent when free", pthread_mutex_consistent(mutex));
  int old = 0;
  if (kind.protocol == PTHREAD_PRIO_NONE)
    probe("setprioceiling", pthread_mutex_setprioceiling(mutex, 1, &old));
  for (const timespec& when : {past, long_past, too_many}) {
    const int result = pthread_mutex_timedlock(mutex, &when);
    probe("timedlock when free until " + std::to_string(when.tv_sec) + " " +
              std::to_string(when.tv_nsec),
          result);
    if (result == 0) OK(pthread_mutex_unlock(mutex));
  }
  const int clocked = pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &past);
  probe("clocklock when free with a clock that is none", clocked);
  if (clocked == 0) OK(pthread_mutex_unlock(mutex));
}

void mutex_kinds() {
  for (const Kind& kind : all_kinds()) {
    group = "mutex " + kind.name();
    pthread_mutex_t mutex;
    const int result = kind.init(&mutex);
    probe("init", result);
    if (result != 0) continue;
    use(&mutex, kind);
    probe("destroy", pthread_mutex_destroy(&mutex));
    probe("lock of a destroyed one", pthread_mutex_lock(&mutex));
    probe("trylock of a destroyed one", pthread_mutex_trylock(&mutex));
    probe("init after destroy", kind.init(&mutex));
    probe("and destroy", pthread_mutex_destroy(&mutex));
  }
}

void static_initialisers() {
  const pthread_mutex_t each[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                  PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
  std::size_t i = 0;
  for (const int type : check::all_types) {
    group = std::string{"static mutex "} + check::type_name(type);
    pthread_mutex_t mutex = each[i++];
    use(&mutex, Kind{.type = type});
    probe("destroy", pthread_mutex_destroy(&mutex));
  }
  group = "mutex without attributes";
  pthread_mutex_t mutex;
  probe("init", pthread_mutex_init(&mutex, nullptr));
  use(&mutex, Kind{});
  probe("destroy", pthread_mutex_destroy(&mutex));
}

// A normal one may be unlocked by anybody, and unlocking a free one does nothing.
void normal_mutexes_ask_nobody() {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    group = std::string{"mutex "} + check::type_name(type) + " used loosely";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    OK(pthread_mutex_lock(&mutex));
    probe("unlock by another", elsewhere([&] { return pthread_mutex_unlock(&mutex); }));
    probe("unlock when free", pthread_mutex_unlock(&mutex));
    probe("lock", pthread_mutex_lock(&mutex));
    probe_is("held by one only", !check::is_free(&mutex));
    probe("unlock", pthread_mutex_unlock(&mutex));
    probe_is("free", check::is_free(&mutex));
  }
}

void owners_that_end() {
  for (const int type : check::all_types)
    for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED})
      for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
        const Kind kind{type, shared, PTHREAD_MUTEX_ROBUST, protocol};
        group = "owner of mutex " + kind.name() + " ended";
        pthread_mutex_t mutex;
        if (kind.init(&mutex) != 0) continue;
        auto end_with_it = [&] {
          elsewhere([&] {
            OK(pthread_mutex_lock(&mutex));
            return 0;
          });
        };
        end_with_it();
        probe("lock", pthread_mutex_lock(&mutex));
        probe("trylock by another", elsewhere([&] { return pthread_mutex_trylock(&mutex); }));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("consistent again", pthread_mutex_consistent(&mutex));
        probe("unlock", pthread_mutex_unlock(&mutex));
        end_with_it();
        probe("trylock", pthread_mutex_trylock(&mutex));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("unlock", pthread_mutex_unlock(&mutex));
        end_with_it();
        probe("timedlock", pthread_mutex_timedlock(&mutex, &past));
        probe("unlock without consistent", pthread_mutex_unlock(&mutex));
        probe("lock", pthread_mutex_lock(&mutex));
        probe("trylock", pthread_mutex_trylock(&mutex));
        probe("consistent", pthread_mutex_consistent(&mutex));
        probe("destroy", pthread_mutex_destroy(&mutex));
      }
  for (const int type : check::all_types) {
    group = std::string{"owner of mutex "} + check::type_name(type) + " ended";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    pthread_t thread;
    OK(pthread_create(
        &thread, nullptr,
        [](void* held) -> void* {
          OK(pthread_mutex_lock(static_cast<pthread_mutex_t*>(held)));
          pthread_exit(nullptr);
        },
        &mutex));
    OK(pthread_join(thread, nullptr));
    probe("trylock", pthread_mutex_trylock(&mutex));
    probe("timedlock", pthread_mutex_timedlock(&mutex, &past));
    const timespec when = soon();
    probe("timedlock for a while", pthread_mutex_timedlock(&mutex, &when));
    probe("destroy", pthread_mutex_destroy(&mutex));
    probe("consistent", pthread_mutex_consistent(&mutex));
    probe("unlock", pthread_mutex_unlock(&mutex));
    probe("trylock after that", pthread_mutex_trylock(&mutex));
  }
}

// --- Condition variables ------------------------------------------------------------------------

// The result of a wait that another thread ends.
int signalled_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, int how) {
  OK(pthread_mutex_lock(mutex));
  const int refusal = pthread_cond_timedwait(cond, mutex, &past);
  OK(pthread_mutex_unlock(mutex));
  if (refusal != ETIMEDOUT) return refusal;
  bool go = false;
  int result = -1;
  bool held_after = false;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(mutex));
    self.about_to_block();
    const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
    const timespec late_monotonic = check::after_ms(CLOCK_MONOTONIC, 60'000);
    do {
      result = how == 0   ? pthread_cond_wait(cond, mutex)
               : how == 1 ? pthread_cond_timedwait(cond, mutex, &late)
                          : pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &late_monotonic);
    } while (result == 0 && !go);
    held_after = !check::is_free(mutex);
    OK(pthread_mutex_unlock(mutex));
  }};
  waiter.wait_until_blocked();
  OK(pthread_mutex_lock(mutex));
  go = true;
  OK(how == 1 ? pthread_cond_broadcast(cond) : pthread_cond_signal(cond));
  OK(pthread_mutex_unlock(mutex));
  waiter.join();
  probe_is("and it is held", held_after);
  return result;
}

void wait_with(pthread_cond_t* cond, pthread_mutex_t* mutex, const Kind& kind) {
  OK(pthread_mutex_lock(mutex));
  for (const timespec& when : {past, long_past, too_many, negative})
    probe("timedwait until " + std::to_string(when.tv_sec) + " " + std::to_string(when.tv_nsec),
          pthread_cond_timedwait(cond, mutex, &when));
  timespec when = soon();
  probe("timedwait", pthread_cond_timedwait(cond, mutex, &when));
  probe_is("and it is held", !check::is_free(mutex));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    when = soon(clock);
    probe("clockwait with clock " + std::to_string(clock),
          pthread_cond_clockwait(cond, mutex, clock, &when));
  }
  for (const clockid_t clock :
       {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, clockid_t{77}})
    probe("clockwait with clock " + std::to_string(clock),
          pthread_cond_clockwait(cond, mutex, clock, &past));
  probe("clockwait with nonsense", pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &too_many));
  probe_is("and it is held", !check::is_free(mutex));
  if (kind.type == PTHREAD_MUTEX_ERRORCHECK) probe("lock again", pthread_mutex_lock(mutex));
  probe("unlock", pthread_mutex_unlock(mutex));
  if (kind.knows_owner()) {
    probe("wait without holding it", pthread_cond_wait(cond, mutex));
    probe("timedwait without holding it", pthread_cond_timedwait(cond, mutex, &past));
    probe("timedwait without holding it, with nonsense",
          pthread_cond_timedwait(cond, mutex, &too_many));
    probe("clockwait without holding it",
          pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &past));
    OK(pthread_mutex_lock(mutex));
    probe("timedwait while another holds it",
          elsewhere([&] { return pthread_cond_timedwait(cond, mutex, &past); }));
    OK(pthread_mutex_unlock(mutex));
  }
  probe_is("and it is free", check::is_free(mutex));
  for (const int how : {0, 1, 2})
    probe("wait " + std::to_string(how), signalled_wait(cond, mutex, how));
}

// One condition variable, with every kind of mutex in turn.
void condition_variables() {
  for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, shared));
    pthread_cond_t cond;
    group = shared == PTHREAD_PROCESS_SHARED ? "shared cond" : "cond";
    const std::string which = group;
    probe("init", pthread_cond_init(&cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
    probe("signal with nobody there", pthread_cond_signal(&cond));
    probe("broadcast with nobody there", pthread_cond_broadcast(&cond));
    for (const Kind& kind : all_kinds()) {
      group = which + " with mutex " + kind.name();
      // A ceiling decides by privilege who may lock at all.
      if (kind.protocol == PTHREAD_PRIO_PROTECT) continue;
      pthread_mutex_t mutex;
      if (kind.init(&mutex) != 0) continue;
      wait_with(&cond, &mutex, kind);
      probe("destroy", pthread_mutex_destroy(&mutex));
    }
    group = which;
    probe("destroy", pthread_cond_destroy(&cond));
  }
  group = "static cond";
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  wait_with(&cond, &mutex, Kind{});
  probe("destroy", pthread_cond_destroy(&cond));
}

void clocks_of_condition_variables() {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    group = "cond of clock " + std::to_string(clock);
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    probe("setclock", pthread_condattr_setclock(&attributes, clock));
    pthread_cond_t cond;
    OK(pthread_cond_init(&cond, &attributes));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&mutex));
    const timespec when = soon(clock);
    probe("timedwait", pthread_cond_timedwait(&cond, &mutex, &when));
    probe_is("not too early",
             check::nanoseconds(clock) >= when.tv_sec * std::int64_t{1'000'000'000} + when.tv_nsec);
    const clockid_t other = clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    const timespec then = soon(other);
    probe("clockwait with the other clock", pthread_cond_clockwait(&cond, &mutex, other, &then));
    OK(pthread_mutex_unlock(&mutex));
    probe("destroy", pthread_cond_destroy(&cond));
    OK(pthread_condattr_destroy(&attributes));
  }
}

void destroy_after_broadcast() {
  group = "cond destroyed after a broadcast";
  for (int round = 0; round < 20; ++round) {
    auto* cond = static_cast<pthread_cond_t*>(std::malloc(sizeof(pthread_cond_t)));
    OK(pthread_cond_init(cond, nullptr));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    bool go = false;
    int waiting = 0;
    std::vector<std::unique_ptr<check::Worker>> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(std::make_unique<check::Worker>([&](check::Worker&) {
        OK(pthread_mutex_lock(&mutex));
        ++waiting;
        while (!go) OK(pthread_cond_wait(cond, &mutex));
        OK(pthread_mutex_unlock(&mutex));
      }));
    check::wait_until([&] {
      OK(pthread_mutex_lock(&mutex));
      const bool there = waiting == 3;
      OK(pthread_mutex_unlock(&mutex));
      return there;
    });
    OK(pthread_mutex_lock(&mutex));
    go = true;
    OK(pthread_cond_broadcast(cond));
    OK(pthread_mutex_unlock(&mutex));
    const int result = pthread_cond_destroy(cond);
    std::memset(cond, 0xff, sizeof *cond);
    std::free(cond);
    for (auto& each : all) each->join();
    if (round == 0) probe("destroy", result);
  }
}

// What others see of a recursive mutex that was locked twice, while its owner waits.
void wait_with_a_depth_of_two() {
  group = "cond with mutex recursive locked twice";
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waited = -1;
  int unlocks = 0;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    const timespec when = check::after_ms(CLOCK_REALTIME, 30);
    waited = pthread_cond_timedwait(&cond, &mutex, &when);
    while (pthread_mutex_unlock(&mutex) == 0) ++unlocks;
  }};
  waiter.wait_until_blocked();
  probe_is("others can lock it meanwhile", check::is_free(&mutex));
  waiter.join();
  probe("timedwait", waited);
  say("unlocks after the wait", std::to_string(unlocks));
}

// --- Cancellation -------------------------------------------------------------------------------

struct Cancelled {
  Kind kind{};
  pthread_mutex_t mutex{};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int how = 0;
  bool asynchronous = false;
  bool pending = false;
  int type_before = -1;
  int unlock = -1;
  bool held = false;
  std::atomic<bool> ready{false};
  std::atomic<bool> go{false};
};

void clean_up(void* argument) {
  auto& run = *static_cast<Cancelled*>(argument);
  run.held = !check::is_free(&run.mutex);
  run.unlock = pthread_mutex_unlock(&run.mutex);
}

void* be_cancelled(void* argument) {
  auto& run = *static_cast<Cancelled*>(argument);
  int ignored = 0;
  OK(pthread_setcanceltype(run.asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED,
                           &ignored));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
  OK(pthread_mutex_lock(&run.mutex));
  pthread_cleanup_push(clean_up, &run);
  run.ready = true;
  if (run.pending) check::wait_until([&] { return run.go.load(); });
  OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
  if (run.asynchronous) OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &ignored));
  const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
  const timespec late_monotonic = check::after_ms(CLOCK_MONOTONIC, 60'000);
  for (;;) {
    if (run.how == 0) pthread_cond_wait(&run.cond, &run.mutex);
    if (run.how == 1) pthread_cond_timedwait(&run.cond, &run.mutex, &late);
    if (run.how == 2)
      pthread_cond_clockwait(&run.cond, &run.mutex, CLOCK_MONOTONIC, &late_monotonic);
    if (run.how == 3) pthread_cond_timedwait(&run.cond, &run.mutex, &past);
  }
  pthread_cleanup_pop(0);
  return nullptr;
}

void cancellation() {
  for (const Kind& kind :
       {Kind{PTHREAD_MUTEX_NORMAL}, Kind{PTHREAD_MUTEX_RECURSIVE}, Kind{PTHREAD_MUTEX_ERRORCHECK},
        Kind{.robust = PTHREAD_MUTEX_ROBUST}, Kind{.protocol = PTHREAD_PRIO_INHERIT}})
    for (const bool asynchronous : {false, true})
      for (const bool pending : {false, true})
        for (const int how : {0, 1, 2, 3}) {
          // An asynchronous one that is pending acts before the wait; it is not the wait's.
          if (asynchronous && (pending || how == 3)) continue;
          group = "cancelled wait " + std::to_string(how) + " with mutex " + kind.name() +
                  (asynchronous ? " asynchronous" : "") + (pending ? " pending" : "");
          Cancelled run;
          run.how = how;
          run.asynchronous = asynchronous;
          run.pending = pending;
          OK(kind.init(&run.mutex));
          pthread_t thread;
          OK(pthread_create(&thread, nullptr, be_cancelled, &run));
          check::wait_until([&] { return run.ready.load(); });
          if (!pending) check::wait_until([&] { return check::is_free(&run.mutex); });
          OK(pthread_cancel(thread));
          run.go = true;
          void* result = nullptr;
          OK(pthread_join(thread, &result));
          probe_is("cancelled", result == PTHREAD_CANCELED);
          probe_is("held in the clean-up", run.held);
          probe("unlock in the clean-up", run.unlock);
          probe_is("free after that", check::is_free(&run.mutex));
          probe("destroy of the cond", pthread_cond_destroy(&run.cond));
          probe("destroy of the mutex", pthread_mutex_destroy(&run.mutex));
        }
}

// Calls that are no cancellation points, made with a cancellation pending.
void no_cancellation_points() {
  group = "with a cancellation pending";
  static std::atomic<int> passed;
  passed = 0;
  pthread_t thread;
  static std::atomic<bool> go;
  go = false;
  OK(pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        int ignored = 0;
        OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
        check::wait_until([] { return go.load(); });
        OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
        pthread_mutex_t mutex;
        OK(pthread_mutex_init(&mutex, nullptr));
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        OK(pthread_mutex_lock(&mutex));
        CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
        pthread_mutex_timedlock(&mutex, &past);
        const timespec when = soon();
        pthread_mutex_timedlock(&mutex, &when);
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_cond_signal(&cond));
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_cond_destroy(&cond));
        OK(pthread_mutex_destroy(&mutex));
        passed = 1;
        pthread_testcancel();
        passed = 2;
        return nullptr;
      },
      nullptr));
  OK(pthread_cancel(thread));
  go = true;
  void* result = nullptr;
  OK(pthread_join(thread, &result));
  say("calls passed", std::to_string(passed.load()));
  probe_is("cancelled then", result == PTHREAD_CANCELED);
}

void state_after_a_wait() {
  for (const int wanted : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    group = wanted == PTHREAD_CANCEL_DEFERRED ? "after a wait, deferred" : "after a wait, at once";
    elsewhere([&] {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
      int ignored = 0;
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_setcanceltype(wanted, &ignored));
      const timespec when = soon();
      pthread_cond_timedwait(&cond, &mutex, &when);
      int type = -1;
      int state = -1;
      OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
      OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
      probe_is("type as before", type == wanted);
      probe_is("enabled", state == PTHREAD_CANCEL_ENABLE);
      OK(pthread_mutex_unlock(&mutex));
      return 0;
    });
  }
}

// Disabled, it leaves the wait alone.
void cancellation_disabled() {
  group = "cancelled while that is disabled";
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  int result = -1;
  check::Worker waiter{[&](check::Worker& self) {
    int ignored = 0;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    do {
      result = pthread_cond_wait(&cond, &mutex);
    } while (result == 0 && !go);
    OK(pthread_mutex_unlock(&mutex));
  }};
  waiter.wait_until_blocked();
  OK(pthread_cancel(waiter.handle()));
  OK(pthread_mutex_lock(&mutex));
  go = true;
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  probe("wait", result);
}

// --- Signal handlers and forks ------------------------------------------------------------------

std::atomic<int> handled{0};
std::atomic<pid_t> forked{0};

void set_handler(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
}

void interrupted_calls() {
  for (const int flags : {0, SA_RESTART}) {
    set_handler([](int) { ++handled; }, flags);
    for (const int how : {0, 1, 2, 3}) {
      group = "interrupted by a handler, " + std::string{flags != 0 ? "restarting, " : ""} +
              std::to_string(how);
      handled = 0;
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
      sem_t sem;
      CHECK(sem_init(&sem, 0, 0) == 0);
      bool go = false;
      int result = -1;
      int too_early = 0;
      if (how == 2) OK(pthread_mutex_lock(&mutex));
      check::Worker waiter{[&](check::Worker& self) {
        const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
        if (how <= 1) OK(pthread_mutex_lock(&mutex));
        self.about_to_block();
        if (how == 2) {
          result = pthread_mutex_lock(&mutex);
        } else if (how == 3) {
          result = sem_wait(&sem) == 0 ? 0 : errno;
          return;
        } else {
          for (;;) {
            result = how == 0 ? pthread_cond_wait(&cond, &mutex)
                              : pthread_cond_timedwait(&cond, &mutex, &late);
            if (go || result != 0) break;
            ++too_early;
          }
        }
        OK(pthread_mutex_unlock(&mutex));
      }};
      waiter.wait_until_blocked();
      check::sleep_us(500);
      const int times = how == 3 ? 1 : 5;
      for (int i = 1; i <= times; ++i) {
        OK(pthread_kill(waiter.handle(), SIGUSR1));
        check::wait_until([&] { return handled == i; });
      }
      check::sleep_ms(2);
      if (how == 2) {
        OK(pthread_mutex_unlock(&mutex));
      } else if (how == 3) {
        // One that goes on waiting is to be let go.
        if (flags != 0) CHECK(sem_post(&sem) == 0);
      } else {
        OK(pthread_mutex_lock(&mutex));
        go = true;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
      }
      waiter.join();
      probe("result", result);
      say("returns without cause", std::to_string(too_early));
    }
  }
}

// The child of a fork in a handler is inside the wait that the handler interrupted.
void fork_in_a_handler() {
  group = "forked in a handler in a wait";
  set_handler(
      [](int) {
        const pid_t pid = fork();
        if (pid == 0) alarm(10);
        forked = pid;
      },
      SA_RESTART);
  forked = -1;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  const pid_t parent = getpid();
  int result = -1;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    timespec when = check::after_ms(CLOCK_REALTIME, 40);
    result = pthread_cond_timedwait(&cond, &mutex, &when);
    when = soon();
    const int again = pthread_cond_timedwait(&cond, &mutex, &when);
    OK(pthread_mutex_unlock(&mutex));
    if (getpid() == parent) return;
    OK(pthread_cond_signal(&cond));
    _exit(again == ETIMEDOUT ? result : 99);
  }};
  waiter.wait_until_blocked();
  check::wait_until([&] { return check::is_free(&mutex); });
  OK(pthread_kill(waiter.handle(), SIGUSR1));
  check::wait_until([&] { return forked > 0; });
  waiter.join();
  probe("in the parent", result);
  say("in the child", end_of(forked));
}

void forks() {
  for (const int type : check::all_types) {
    group = std::string{"mutex "} + check::type_name(type) + " held across a fork";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    OK(pthread_mutex_lock(&mutex));
    say("unlock in the child", in_child([&] { return pthread_mutex_unlock(&mutex); }));
    say("trylock in the child", in_child([&] { return pthread_mutex_trylock(&mutex); }));
    say("destroy in the child", in_child([&] { return pthread_mutex_destroy(&mutex); }));
    say("unlock, lock and unlock in the child", in_child([&] {
          if (const int result = pthread_mutex_unlock(&mutex)) return result;
          if (const int result = pthread_mutex_lock(&mutex)) return result;
          return pthread_mutex_unlock(&mutex);
        }));
    probe("unlock in the parent", pthread_mutex_unlock(&mutex));
    check::Worker holder{[&](check::Worker& self) {
      OK(pthread_mutex_lock(&mutex));
      self.about_to_block();
      check::sleep_ms(20);
      OK(pthread_mutex_unlock(&mutex));
    }};
    holder.wait_until_blocked();
    say("trylock in the child of another's",
        in_child([&] { return pthread_mutex_trylock(&mutex); }));
    say("timedlock in the child of another's", in_child([&] {
          const timespec when = soon();
          return pthread_mutex_timedlock(&mutex, &when);
        }));
    say("init in the child of another's", in_child([&] {
          check::init_mutex(&mutex, PTHREAD_MUTEX_NORMAL);
          if (const int result = pthread_mutex_lock(&mutex)) return result;
          if (const int result = pthread_mutex_unlock(&mutex)) return result;
          return pthread_mutex_destroy(&mutex);
        }));
    holder.join();
    say("lock and unlock in a child's child", in_child([&] {
          const pid_t pid = fork();
          if (pid == 0) {
            if (pthread_mutex_lock(&mutex) != 0) _exit(1);
            _exit(pthread_mutex_unlock(&mutex));
          }
          int status = -1;
          return waitpid(pid, &status, 0) == pid ? status : 99;
        }));
  }
  group = "cond across a fork";
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    while (!go) OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  waiter.wait_until_blocked();
  check::wait_until([&] { return check::is_free(&mutex); });
  say("timedwait in the child", in_child([&] {
        OK(pthread_mutex_lock(&mutex));
        const timespec when = soon();
        const int result = pthread_cond_timedwait(&cond, &mutex, &when);
        OK(pthread_mutex_unlock(&mutex));
        return result;
      }));
  say("broadcast in the child", in_child([&] { return pthread_cond_broadcast(&cond); }));
  OK(pthread_mutex_lock(&mutex));
  go = true;
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
}

// A private mutex in memory that two processes share, never contended.
void private_mutex_in_shared_memory() {
  group = "private mutex in shared memory";
  void* memory = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  auto* mutex = static_cast<pthread_mutex_t*>(memory);
  OK(pthread_mutex_init(mutex, nullptr));
  auto turn = [&] {
    if (const int result = pthread_mutex_lock(mutex)) return result;
    return pthread_mutex_unlock(mutex);
  };
  probe("before", turn());
  say("in a child", in_child(turn));
  probe("after", turn());
  say("in another child", in_child(turn));
  OK(pthread_mutex_lock(mutex));
  say("trylock in a child", in_child([&] { return pthread_mutex_trylock(mutex); }));
  probe("unlock", pthread_mutex_unlock(mutex));
  say("trylock in a child when free", in_child([&] { return pthread_mutex_trylock(mutex); }));
  probe("trylock of what the child left locked", pthread_mutex_trylock(mutex));
  probe("unlock of that", pthread_mutex_unlock(mutex));
  probe("at last", turn());
}

// --- C11, semaphores, barriers, once --------------------------------------------------------------

void c11() {
  for (const int type :
       {int{mtx_plain}, int{mtx_timed}, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive, 77}) {
    group = "mtx " + std::to_string(type);
    mtx_t mutex;
    const int result = mtx_init(&mutex, type);
    say("init", std::to_string(result));
    if (result != thrd_success) continue;
    say("lock", std::to_string(mtx_lock(&mutex)));
    const int again = mtx_trylock(&mutex);
    say("trylock by the owner", std::to_string(again));
    if (again == thrd_success) say("and unlock", std::to_string(mtx_unlock(&mutex)));
    say("trylock by another", std::to_string(elsewhere([&] { return mtx_trylock(&mutex); })));
    for (const timespec& when : {past, long_past, too_many})
      say("timedlock by another until " + std::to_string(when.tv_sec) + " " +
              std::to_string(when.tv_nsec),
          std::to_string(elsewhere([&] { return mtx_timedlock(&mutex, &when); })));
    cnd_t cond;
    say("cnd_init", std::to_string(cnd_init(&cond)));
    for (const timespec& when : {past, long_past, too_many, soon()})
      say("cnd_timedwait until " + std::string{when.tv_sec > 1 ? "soon" : "long ago"} + " " +
              std::string{when.tv_nsec == 1'000'000'000 ? "nonsense" : ""},
          std::to_string(cnd_timedwait(&cond, &mutex, &when)));
    say("cnd_signal", std::to_string(cnd_signal(&cond)));
    say("cnd_broadcast", std::to_string(cnd_broadcast(&cond)));
    cnd_destroy(&cond);
    if ((type & mtx_recursive) != 0)
      say("unlock by another", std::to_string(elsewhere([&] { return mtx_unlock(&mutex); })));
    say("unlock", std::to_string(mtx_unlock(&mutex)));
    if ((type & mtx_recursive) != 0) say("unlock when free", std::to_string(mtx_unlock(&mutex)));
    mtx_destroy(&mutex);
  }
}

void* wait_for_unit(void* sem) {
  int ignored = 0;
  OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored));
  sem_wait(static_cast<sem_t*>(sem));
  return nullptr;
}

void semaphores() {
  for (const int shared : {0, 1}) {
    group = shared != 0 ? "shared semaphore" : "semaphore";
    sem_t sem;
    probe_errno("init beyond the limit", sem_init(&sem, shared, SEM_VALUE_MAX + 1U));
    probe_errno("init", sem_init(&sem, shared, 1));
    probe_errno("wait", sem_wait(&sem));
    probe_errno("trywait", sem_trywait(&sem));
    const timespec when = soon();
    probe_errno("timedwait", sem_timedwait(&sem, &when));
    for (const timespec& each : {past, long_past, too_many, negative})
      probe_errno(
          "timedwait until " + std::to_string(each.tv_sec) + " " + std::to_string(each.tv_nsec),
          sem_timedwait(&sem, &each));
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME})
      probe_errno("clockwait with clock " + std::to_string(clock),
                  sem_clockwait(&sem, clock, &past));
    probe_errno("post", sem_post(&sem));
    int value = -1;
    probe_errno("getvalue", sem_getvalue(&sem, &value));
    say("value", std::to_string(value));
    probe_errno("timedwait with nonsense, and a unit", sem_timedwait(&sem, &too_many));
    probe_errno("destroy", sem_destroy(&sem));
    CHECK(sem_init(&sem, shared, SEM_VALUE_MAX) == 0);
    probe_errno("post beyond the limit", sem_post(&sem));
    CHECK(sem_destroy(&sem) == 0);
    CHECK(sem_init(&sem, shared, 0) == 0);
    pthread_t thread;
    OK(pthread_create(&thread, nullptr, wait_for_unit, &sem));
    check::sleep_us(500);
    OK(pthread_cancel(thread));
    void* result = nullptr;
    OK(pthread_join(thread, &result));
    probe_is("wait cancelled", result == PTHREAD_CANCELED);
    CHECK(sem_getvalue(&sem, &value) == 0);
    say("value after that", std::to_string(value));
    // A unit that is there is no reason not to be cancelled.
    CHECK(sem_post(&sem) == 0);
    static std::atomic<bool> go;
    go = false;
    struct Late {
      sem_t* sem;
      int passed = 0;
    } late{&sem};
    OK(pthread_create(
        &thread, nullptr,
        [](void* argument) -> void* {
          int ignored = 0;
          OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
          check::wait_until([] { return go.load(); });
          OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
          sem_wait(static_cast<Late*>(argument)->sem);
          static_cast<Late*>(argument)->passed = 1;
          return nullptr;
        },
        &late));
    OK(pthread_cancel(thread));
    go = true;
    OK(pthread_join(thread, &result));
    say("wait with a cancellation pending and a unit there: passed", std::to_string(late.passed));
    CHECK(sem_destroy(&sem) == 0);
  }
}

void barriers_and_once() {
  group = "barrier";
  pthread_barrier_t barrier;
  probe("init for none", pthread_barrier_init(&barrier, nullptr, 0));
  probe("init", pthread_barrier_init(&barrier, nullptr, 3));
  std::atomic<int> serial{0};
  check::in_parallel(3, [&](int) {
    for (int i = 0; i < 20; ++i) {
      const int role = pthread_barrier_wait(&barrier);
      serial += role == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
    }
  });
  say("serial threads", std::to_string(serial.load()));
  probe("destroy", pthread_barrier_destroy(&barrier));
  group = "once";
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static std::atomic<int> times;
  check::in_parallel(4, [&](int) { OK(pthread_once(&once, [] { ++times; })); });
  say("times", std::to_string(times.load()));
}

struct Part {
  const char* name;
  void (*body)();
};

constexpr Part parts[] = {{"mutex kinds", mutex_kinds},
                          {"static initialisers", static_initialisers},
                          {"normal mutexes", normal_mutexes_ask_nobody},
                          {"owners that end", owners_that_end},
                          {"condition variables", condition_variables},
                          {"clocks", clocks_of_condition_variables},
                          {"destroy after broadcast", destroy_after_broadcast},
                          {"depth of two", wait_with_a_depth_of_two},
                          {"cancellation", cancellation},
                          {"no cancellation points", no_cancellation_points},
                          {"state after a wait", state_after_a_wait},
                          {"cancellation disabled", cancellation_disabled},
                          {"interrupted calls", interrupted_calls},
                          {"fork in a handler", fork_in_a_handler},
                          {"forks", forks},
                          {"private mutex in shared memory", private_mutex_in_shared_memory},
                          {"C11", c11},
                          {"semaphores", semaphores},
                          {"barriers and once", barriers_and_once}};

}  // namespace

// The names of parts as arguments: only these.
int main(int argc, char** argv) {
  for (const Part& part : parts) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], part.name) == 0;
    if (wanted) part.body();
  }
  return 0;
}
