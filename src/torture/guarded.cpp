#include "guarded.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include "clock.hpp"
#include "lockwright/pthread.h"
#include "report.hpp"

namespace torture {
namespace {

// Keeps the compiler from merging or removing stores.
void compiler_barrier() { asm volatile("" ::: "memory"); }

std::string named(const guarded& g) { return "mutex " + std::to_string(g.number); }

bool came_early(clockid_t clock, std::uint64_t deadline) { return now(clock) < deadline; }

}  // namespace

void must(int result, const char* call) {
  if (result != 0) {
    fail("result", std::string(call) + " returned " + strerrorname_np(result));
  }
}

condition::condition(clockid_t by) : clock{by} { init(); }

condition::~condition() { must(pthread_cond_destroy(&cond), "pthread_cond_destroy"); }

void condition::init() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, clock);
  must(pthread_cond_init(&cond, &attributes), "pthread_cond_init");
  pthread_condattr_destroy(&attributes);
}

void condition::renew() {
  must(pthread_cond_destroy(&cond), "pthread_cond_destroy");
  std::memset(&cond, 0x5A, sizeof cond);
  init();
}

guarded::guarded(std::uint32_t id, int kind) : number{id}, type{kind} {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind);
  must(pthread_mutex_init(&mutex, &attributes), "pthread_mutex_init");
  pthread_mutexattr_destroy(&attributes);
}

void guarded::end() { must(pthread_mutex_destroy(&mutex), "pthread_mutex_destroy"); }

void guarded::enter(worker& me) {
  const std::uint32_t other = owner_.load(std::memory_order_relaxed);
  if (other != 0) {
    fail("exclusion", "thread " + std::to_string(me.number) + " entered " + named(*this) +
                          " while thread " + std::to_string(other) + " was inside");
  }
  owner_.store(me.number, std::memory_order_relaxed);
  const std::uint64_t left = left_;
  compiler_barrier();
  if (left != right_) {
    fail("exclusion",
         "thread " + std::to_string(me.number) + " entered " + named(*this) +
             " in the middle of another section, or did not see all writes of the last one");
  }
  left_ = left + 1;
  compiler_barrier();
  entries_.store(left + 1, std::memory_order_relaxed);
  me.sections.store(me.sections.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  me.does(activity::inside, this);
}

void guarded::leave(worker& me) {
  compiler_barrier();
  const std::uint64_t right = right_ + 1;
  const std::uint32_t other = owner_.load(std::memory_order_relaxed);
  if (left_ != right || other != me.number) {
    fail("exclusion", "thread " + std::to_string(other) + " entered " + named(*this) +
                          " while thread " + std::to_string(me.number) + " was inside");
  }
  right_ = right;
  owner_.store(0, std::memory_order_relaxed);
  compiler_barrier();
}

void guarded::lock(worker& me) {
  me.does(activity::locks, this);
  must(pthread_mutex_lock(&mutex), "pthread_mutex_lock");
  enter(me);
}

void guarded::lock_polling(worker& me) {
  me.does(activity::locks, this);
  must(lockwright_mutex_busylock(&mutex), "lockwright_mutex_busylock");
  enter(me);
}

bool guarded::try_lock(worker& me) {
  me.does(activity::tries, this);
  const int result = pthread_mutex_trylock(&mutex);
  if (result == EBUSY) {
    me.does(activity::between);
    return false;
  }
  must(result, "pthread_mutex_trylock");
  enter(me);
  return true;
}

bool guarded::lock_within(worker& me, std::uint64_t ns) {
  const bool old = me.draw.one_in(2);
  const clockid_t clock = old || me.draw.one_in(2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const std::uint64_t deadline = now(clock) + ns;
  const timespec until = at(deadline);
  me.does(ns == far_away ? activity::locks : activity::locks_by, this);
  const int result = old ? pthread_mutex_timedlock(&mutex, &until)
                         : pthread_mutex_clocklock(&mutex, clock, &until);
  if (result == ETIMEDOUT) {
    if (came_early(clock, deadline)) {
      fail("deadline", "a lock call on " + named(*this) + " gave up before its deadline");
    }
    me.does(activity::between);
    return false;
  }
  must(result, old ? "pthread_mutex_timedlock" : "pthread_mutex_clocklock");
  enter(me);
  return true;
}

void guarded::unlock(worker& me) {
  leave(me);
  me.does(activity::unlocks, this);
  must(pthread_mutex_unlock(&mutex), "pthread_mutex_unlock");
  me.does(activity::between);
}

void guarded::lock_again() { must(pthread_mutex_lock(&mutex), "pthread_mutex_lock"); }

void guarded::unlock_again() { must(pthread_mutex_unlock(&mutex), "pthread_mutex_unlock"); }

void guarded::wait(worker& me, condition& on) {
  leave(me);
  me.does(activity::waits, this);
  must(pthread_cond_wait(&on.cond, &mutex), "pthread_cond_wait");
  enter(me);
}

bool guarded::wait_within(worker& me, condition& on, std::uint64_t ns) {
  const bool old = me.draw.one_in(2);
  const clockid_t clock = old ? on.clock : me.draw.one_in(2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const std::uint64_t deadline = now(clock) + ns;
  const timespec until = at(deadline);
  leave(me);
  me.does(activity::waits_by, this);
  const int result = old ? pthread_cond_timedwait(&on.cond, &mutex, &until)
                         : pthread_cond_clockwait(&on.cond, &mutex, clock, &until);
  if (result == ETIMEDOUT && came_early(clock, deadline)) {
    fail("deadline", "a wait on a condition variable gave up before its deadline");
  }
  if (result != ETIMEDOUT) {
    must(result, old ? "pthread_cond_timedwait" : "pthread_cond_clockwait");
  }
  enter(me);
  return result == 0;
}

}  // namespace torture
