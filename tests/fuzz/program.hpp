// The program that is drawn: its threads, its objects, and what is known of them.
#pragma once

#include <semaphore.h>
#include <algorithm>
#include <cerrno>
#include <iterator>

#include "crew.hpp"

namespace fuzz {

constexpr int members = 5;
constexpr int mutexes = 3;
constexpr int conds = 2;
constexpr int sems = 2;
constexpr int rwlocks = 2;
constexpr int nobody = -1;

// Signals whose handler has run.
inline std::atomic<int> handled{0};

inline std::string say(const char* call, int rc) {
  const char* name = rc == 0 ? "0" : strerrorname_np(rc);
  return std::string(call) + " " + (name != nullptr ? name : "?");
}

// After a lock call: a robust mutex whose owner has died is put in order.
inline std::string taken(const char* call, int rc, pthread_mutex_t* mutex) {
  std::string told = say(call, rc);
  if (rc == EOWNERDEAD) told += ", " + say("consistent", pthread_mutex_consistent(mutex));
  return told;
}

enum class Kind { normal, recursive, errorcheck, adaptive, shared, inherit, robust };
constexpr const char* kind_names[] = {"normal", "recursive", "errorcheck", "adaptive",
                                      "shared", "inherit",   "robust"};

struct Mutex {
  pthread_mutex_t it = PTHREAD_MUTEX_INITIALIZER;
  Kind kind = Kind::normal;
  int owner = nobody;
  int depth = 0;
};

struct Cond {
  pthread_cond_t it = PTHREAD_COND_INITIALIZER;
  int with = nobody;  // the mutex of the waiters
  bool monotonic = false;
};

struct Sem {
  sem_t it{};
};

struct Rwlock {
  pthread_rwlock_t it = PTHREAD_RWLOCK_INITIALIZER;
  int writer = nobody;
  int reads[members] = {};  // by each
};

// What a member is blocked in. Those of a state with equal values are alike.
struct Blocked {
  enum What { not_at_all, mutex, cond, back_from_cond, sem, read, write } what = not_at_all;
  int on = nobody;    // the mutex, condition variable or semaphore
  int with = nobody;  // of a condition variable: the mutex
  bool operator==(const Blocked& other) const {
    return what == other.what && on == other.on && with == other.with;
  }
};

inline timespec in(clockid_t clock, std::int64_t us) {
  return check::to_timespec(check::nanoseconds(clock) + us * 1000);
}

constexpr std::int64_t soon = 1'500;
constexpr std::int64_t never = 3'600'000'000;

class Program {
 public:
  explicit Program(std::uint64_t seed);
  void step(int number);

 private:
  Member& crew(int member) {
    return *crew_[static_cast<std::size_t>(real_[static_cast<std::size_t>(member)])];
  }

  Blocked& blocked(int member) { return blocked_[static_cast<std::size_t>(member)]; }

  bool is_idle(int member) { return blocked(member).what == Blocked::not_at_all; }

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

  int coming_back_to(int m) {
    return static_cast<int>(std::count_if(blocked_.begin(), blocked_.end(), [&](const Blocked& b) {
      return b.what == Blocked::back_from_cond && b.with == m;
    }));
  }

  bool in_use(int m);

  // A mutex is free that a thread waits for, and no thread has taken it yet. One will: a waiter
  // with a deadline may sleep between two attempts and look blocked meanwhile.
  bool is_a_thread_due();

  int readers(int r) {
    return static_cast<int>(std::count_if(std::begin(rwlock_[r].reads), std::end(rwlock_[r].reads),
                                          [](int n) { return n > 0; }));
  }

  void settle();

  // Orders the work, lets everything happen, and prints what did. Work for which there is nothing
  // to be blocked in comes to an end.
  void run(int member, const std::string& text, const Blocked& if_blocked,
           std::function<std::string()> work);

  // Prints the threads that are no longer blocked. Of those alike, the first one gets the answer's
  // name.
  void report();

  void take(int m, int member) {
    mutex_[m].owner = member;
    mutex_[m].depth = 1;
  }

  void released(int m) {
    mutex_[m].owner = nobody;
    mutex_[m].depth = 0;
  }

  bool draw();
  bool lock(int member, int m);
  // After a call that locks the mutex if it was free, or recursive and the member's own.
  void locked(int m, int member);
  bool try_lock(int member, int m);
  bool timed_lock(int member, int m);
  bool unlock(int member, int m);

  // Holding that mutex and no other, once, so that all waiters are alike.
  bool may_wait(int member, int m, int c);
  bool wait(int member, int m, int c);

  // Takes a free mutex and waits at once, so that many wait.
  bool go_and_wait(int member, int m, int c);
  bool wait_a_moment(int member, int m, int c);
  bool wake(int member, int c);

  // If another one than the first by name comes back after a signal, which may be as late as the
  // mutex is free, the two change names. Which waiter a signal wakes is left open, and the C
  // library puts one that a handler has interrupted at the end.
  void exchange(int c);
  bool make_mutex(int member, int m);
  bool make_cond(int member, int c);

  // A signal handler runs in the midst of what the thread is blocked in, which goes on.
  bool interrupt(int member);
  bool cancel(int member);

  // A thread has the mutex or waits for it.
  bool is_in_the_way(int m) {
    return mutex_[m].owner != nobody || waiting(Blocked::mutex, m) > 0 || coming_back_to(m) > 0;
  }

  // A thread may end with a robust mutex in its hands.
  bool replace(int member);
  bool semaphore(int member, int s);

  // In one of the ways, to read or to write. Whether a reader comes in past a waiting writer is
  // left open by POSIX, and so does not happen here.
  bool read_or_write(int member, int r);
  bool end_of_read_or_write(int member, int r);

  // The child has one thread, which holds what its parent's thread held.
  bool fork_by(int member);
  std::string in_a_child(int member);
  std::string child_says(int member);

  int below(int bound) {
    return static_cast<int>(random_.below(static_cast<std::uint32_t>(bound)));
  }

  check::Random random_;
  int number_ = 0;
  std::vector<std::unique_ptr<Member>> crew_;
  std::vector<int> real_;  // by name: which of the crew it is

  std::vector<Blocked> blocked_;
  Mutex mutex_[mutexes];
  Cond cond_[conds];
  Sem sem_[sems];
  Rwlock rwlock_[rwlocks];
};

}  // namespace fuzz
