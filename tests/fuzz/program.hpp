// The random program: its threads, its objects, and their state.
#pragma once

#include <semaphore.h>
#include <algorithm>
#include <cerrno>
#include <iterator>

#include "members.hpp"

namespace fuzz {

constexpr int members = 5;
constexpr int mutexes = 3;
constexpr int conds = 2;
constexpr int sems = 2;
constexpr int rwlocks = 2;
constexpr int unset = -1;

// Signals whose handler has run.
inline std::atomic<int> handled{0};

inline std::string result_of(const char* call, int rc) {
  const char* name = rc == 0 ? "0" : strerrorname_np(rc);
  return std::string(call) + " " + (name != nullptr ? name : "?");
}

// Returns the result of a lock call; makes a robust mutex whose owner has died consistent.
inline std::string lock_result(const char* call, int rc, pthread_mutex_t* mutex) {
  std::string line = result_of(call, rc);
  if (rc == EOWNERDEAD) line += ", " + result_of("consistent", pthread_mutex_consistent(mutex));
  return line;
}

enum class Kind { normal, recursive, errorcheck, adaptive, shared, inherit, robust };
constexpr const char* kind_names[] = {"normal", "recursive", "errorcheck", "adaptive",
                                      "shared", "inherit",   "robust"};

struct Mutex {
  pthread_mutex_t object = PTHREAD_MUTEX_INITIALIZER;
  Kind kind = Kind::normal;
  int owner = unset;
  int depth = 0;
};

struct Cond {
  pthread_cond_t object = PTHREAD_COND_INITIALIZER;
  int with = unset;  // the mutex of the waiters
  bool monotonic = false;
};

struct Sem {
  sem_t object{};
};

struct Rwlock {
  pthread_rwlock_t object = PTHREAD_RWLOCK_INITIALIZER;
  int writer = unset;
  int reads[members] = {};  // by each
};

// The call in which a member is blocked. Members with equal values are interchangeable.
struct Blocked {
  enum What { none, mutex, cond, leaving_cond, sem, read, write } what = none;
  int on = unset;    // the mutex, condition variable or semaphore
  int with = unset;  // of a condition variable: the mutex
  bool operator==(const Blocked& other) const {
    return what == other.what && on == other.on && with == other.with;
  }
};

inline timespec in(clockid_t clock, std::int64_t us) {
  return check::to_timespec(check::nanoseconds(clock) + us * 1000);
}

// Deadlines, in microseconds.
constexpr std::int64_t soon = 1'500;
constexpr std::int64_t never = 3'600'000'000;

class Program {
 public:
  explicit Program(std::uint64_t seed);
  void step(int number);

 private:
  Member& thread_of(int member) {
    return *threads_[static_cast<std::size_t>(real_[static_cast<std::size_t>(member)])];
  }

  Blocked& blocked(int member) { return blocked_[static_cast<std::size_t>(member)]; }

  bool is_idle(int member) { return blocked(member).what == Blocked::none; }

  bool holds_nothing(int member);

  bool holds_no_rwlock(int member) {
    return std::none_of(std::begin(rwlock_), std::end(rwlock_),
                        [&](const Rwlock& r) { return r.writer == member || r.reads[member] > 0; });
  }

  int waiting(Blocked::What what, int on) {
    return static_cast<int>(std::count_if(blocked_.begin(), blocked_.end(), [&](const Blocked& b) {
      return b.what == what && b.on == on;
    }));
  }

  int returning_to(int m) {
    return static_cast<int>(std::count_if(blocked_.begin(), blocked_.end(), [&](const Blocked& b) {
      return b.what == Blocked::leaving_cond && b.with == m;
    }));
  }

  bool in_use(int m);

  // Returns true if an object that threads wait for is free, so that a thread is about to take it:
  // a waiter with a deadline may sleep between two attempts and look blocked meanwhile.
  bool is_a_thread_due();

  int readers(int r) {
    return static_cast<int>(std::count_if(std::begin(rwlock_[r].reads), std::end(rwlock_[r].reads),
                                          [](int n) { return n > 0; }));
  }

  void settle();

  // Runs the work until all threads are idle or blocked, and prints the results. Work that cannot
  // block has `if_blocked` none.
  void run(int member, const std::string& text, const Blocked& if_blocked,
           std::function<std::string()> work);

  // Prints the threads that are no longer blocked. Of interchangeable threads, the first takes the
  // answer.
  void report();

  void take(int m, int member) {
    mutex_[m].owner = member;
    mutex_[m].depth = 1;
  }

  void released(int m) {
    mutex_[m].owner = unset;
    mutex_[m].depth = 0;
  }

  bool draw();
  bool lock(int member, int m);
  // Records a call that locks the mutex if it is free, or recursive and owned by the member.
  void locked(int m, int member);
  bool try_lock(int member, int m);
  bool timed_lock(int member, int m);
  bool unlock(int member, int m);

  // Returns true if the member holds that mutex once, and no other: waiters are interchangeable.
  bool may_wait(int member, int m, int c);
  bool wait(int member, int m, int c);

  // Takes a free mutex and waits at once, so that many wait.
  bool lock_and_wait(int member, int m, int c);
  bool timed_wait(int member, int m, int c);
  bool wake(int member, int c);

  // Exchanges names if another waiter than the first by name returns after a signal, which may be
  // as late as the mutex is free. POSIX does not specify which waiter a signal wakes, and the C
  // library moves a waiter that a handler has interrupted to the end.
  void exchange(int c);
  bool make_mutex(int member, int m);
  bool make_cond(int member, int c);

  // A signal handler interrupts the call in which the thread is blocked, which then continues.
  bool interrupt(int member);
  bool cancel(int member);

  // Returns true if a thread has the mutex or waits for it.
  bool is_busy(int m) {
    return mutex_[m].owner != unset || waiting(Blocked::mutex, m) > 0 || returning_to(m) > 0;
  }

  // The thread may end while it holds a robust mutex.
  bool replace(int member);
  bool semaphore(int member, int s);

  // Acquires by a random function, to read or to write. POSIX does not specify whether a reader
  // passes a waiting writer, so that does not occur here.
  bool read_or_write(int member, int r);
  bool end_of_read_or_write(int member, int r);

  // The child has one thread, which holds what its parent's thread held.
  bool fork_by(int member);
  std::string in_a_child(int member);
  std::string child_observations(int member);

  int below(int bound) {
    return static_cast<int>(random_.below(static_cast<std::uint32_t>(bound)));
  }

  check::Random random_;
  int number_ = 0;
  std::vector<std::unique_ptr<Member>> threads_;
  std::vector<int> real_;  // by name: the index in threads_

  std::vector<Blocked> blocked_;
  Mutex mutex_[mutexes];
  Cond cond_[conds];
  Sem sem_[sems];
  Rwlock rwlock_[rwlocks];
};

}  // namespace fuzz
