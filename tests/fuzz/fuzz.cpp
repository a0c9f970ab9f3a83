// fuzz SEED STEPS: a random legal program over mutexes, condition variables, reader-writer locks and
// semaphores, and what it can observe, one line a step. The same seed gives the same program, and
// every library that keeps POSIX's promises has it print the same lines.
//
// One thread at a time is told what to do, and the next step is drawn when all are idle or blocked,
// so nothing depends on speed. What POSIX leaves open is kept out of sight: those who wait for the
// same thing hold nothing and are alike, and when one of them is served it is given the name of the
// first of them.
#include "crew.hpp"

#include <semaphore.h>
#include <sys/wait.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace {

using fuzz::Member;

constexpr int members = 5;
constexpr int mutexes = 3;
constexpr int conds = 2;
constexpr int sems = 2;
constexpr int rwlocks = 2;
constexpr int nobody = -1;

std::atomic<int> handled{0};

std::string say(const char* call, int rc) {
  const char* name = rc == 0 ? "0" : strerrorname_np(rc);
  return std::string(call) + " " + (name != nullptr ? name : "?");
}

// After a lock call: a robust mutex whose owner has died is put in order.
std::string taken(const char* call, int rc, pthread_mutex_t* mutex) {
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
  int with = nobody;  // the mutex of those who wait
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

timespec in(clockid_t clock, std::int64_t us) {
  return check::to_timespec(check::nanoseconds(clock) + us * 1000);
}

constexpr std::int64_t soon = 1'500;
constexpr std::int64_t never = 3'600'000'000;

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < members; ++i) {
      crew_.push_back(std::make_unique<Member>());
      real_.push_back(i);
    }
    blocked_.resize(members);
    for (Sem& one : sem_) sem_init(&one.it, 0, 0);
  }

  void step(int number) {
    number_ = number;
    // Most draws are of something that is not legal now; then another is drawn.
    while (!draw()) {
    }
  }

 private:
  Member& crew(int member) {
    return *crew_[static_cast<std::size_t>(real_[static_cast<std::size_t>(member)])];
  }
  Blocked& blocked(int member) { return blocked_[static_cast<std::size_t>(member)]; }
  bool is_idle(int member) { return blocked(member).what == Blocked::not_at_all; }

  bool holds_nothing(int member) {
    return std::none_of(std::begin(mutex_), std::end(mutex_),
                        [&](const Mutex& m) { return m.owner == member; }) &&
           holds_no_rwlock(member);
  }

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

  bool in_use(int m) {
    return mutex_[m].owner != nobody || waiting(Blocked::mutex, m) + coming_back_to(m) > 0 ||
           std::any_of(blocked_.begin(), blocked_.end(),
                       [&](const Blocked& b) { return b.what == Blocked::cond && b.with == m; });
  }

  // A mutex is free that somebody wants, and nobody has come through yet. He will: a waiter with a
  // deadline may sleep between two attempts and look blocked meanwhile.
  bool somebody_is_due() {
    for (int m = 0; m < mutexes; ++m) {
      if (mutex_[m].owner != nobody) continue;
      bool wanted = false;
      bool come = false;
      for (int i = 0; i < members; ++i) {
        const Blocked& b = blocked(i);
        const bool wants = (b.what == Blocked::mutex && b.on == m) ||
                           (b.what == Blocked::back_from_cond && b.with == m);
        wanted = wanted || wants;
        come =
            come || ((wants || (b.what == Blocked::cond && b.with == m)) && !crew(i).is_working());
      }
      if (wanted && !come) return true;
    }
    for (int r = 0; r < rwlocks; ++r) {
      if (rwlock_[r].writer != nobody) continue;
      // All readers come; of the writers, one when there are no readers.
      bool come = false;
      for (int i = 0; i < members; ++i) {
        if (blocked(i).on != r || crew(i).is_working()) continue;
        come = come || blocked(i).what == Blocked::write;
      }
      for (int i = 0; i < members; ++i) {
        if (blocked(i).on != r || !crew(i).is_working()) continue;
        if (blocked(i).what == Blocked::read) return true;
        if (blocked(i).what == Blocked::write && !come && readers(r) == 0) return true;
      }
    }
    return false;
  }

  int readers(int r) {
    return static_cast<int>(std::count_if(std::begin(rwlock_[r].reads), std::end(rwlock_[r].reads),
                                          [](int n) { return n > 0; }));
  }

  void settle() {
    do {
      fuzz::settle(crew_);
    } while (somebody_is_due());
  }

  // Orders the work, lets everything happen, and prints what did. Work for which there is nothing to
  // be blocked in comes to an end.
  void run(int member, const std::string& text, const Blocked& if_blocked,
           std::function<std::string()> work) {
    crew(member).order(std::move(work));
    while (if_blocked.what == Blocked::not_at_all && crew(member).is_working()) usleep(50);
    settle();
    std::string line = std::to_string(number_) + " t" + std::to_string(member) + " " + text + ": ";
    if (crew(member).is_working()) {
      blocked(member) = if_blocked;
      line += "blocks";
    } else {
      line += crew(member).take_answer();
    }
    std::puts(line.c_str());
    report();
  }

  // Who was blocked and is not any more. Of those alike, the first one gets the answer's name.
  void report() {
    for (bool again = true; again;) {
      again = false;
      for (int i = 0; i < members; ++i) {
        if (is_idle(i) || crew(i).is_working()) continue;
        int first = i;
        for (int j = i - 1; j >= 0; --j) {
          if (blocked(j) == blocked(i)) first = j;
        }
        std::swap(real_[static_cast<std::size_t>(first)], real_[static_cast<std::size_t>(i)]);
        const Blocked was = blocked(first);
        blocked(first) = {};
        const std::string answer = crew(first).take_answer();
        std::printf("  t%d: %s\n", first, answer.c_str());
        if (was.what == Blocked::mutex) {
          take(was.on, first);
        } else if (was.what == Blocked::read) {
          ++rwlock_[was.on].reads[first];
        } else if (was.what == Blocked::write) {
          rwlock_[was.on].writer = first;
        } else if (was.what == Blocked::back_from_cond || was.what == Blocked::cond) {
          take(was.with, first);
        }
        again = true;
        break;
      }
    }
    for (int c = 0; c < conds; ++c) {
      if (waiting(Blocked::cond, c) == 0) cond_[c].with = nobody;
    }
  }

  void take(int m, int member) {
    mutex_[m].owner = member;
    mutex_[m].depth = 1;
  }

  void released(int m) {
    mutex_[m].owner = nobody;
    mutex_[m].depth = 0;
  }

  bool draw() {
    const int member = below(members);
    const int m = below(mutexes);
    switch (below(36)) {
      case 0:
      case 1:
      case 2:
        return lock(member, m);
      case 3:
      case 4:
      case 5:
      case 6:
        return unlock(member, m);
      case 7:
        return try_lock(member, m);
      case 8:
        return timed_lock(member, m);
      case 9:
      case 10:
      case 11:
        return wait(member, m, below(conds));
      case 12:
      case 13:
        return wake(member, below(conds));
      case 14:
        return wait_a_moment(member, m, below(conds));
      case 15:
        return make_mutex(member, m);
      case 16:
        return make_cond(member, below(conds));
      case 17:
        return interrupt(member);
      case 18:
      case 33:
      case 34:
      case 35:
        return cancel(member);
      case 19:
        return replace(member);
      case 20:
      case 21:
      case 22:
        return semaphore(member, below(sems));
      case 23:
        return below(3) == 0 && fork_by(member);
      case 24:
      case 25:
      case 26:
        return go_and_wait(member, m, below(conds));
      case 27:
      case 28:
      case 29:
        return read_or_write(member, below(rwlocks));
      case 30:
      case 31:
      case 32:
        return end_of_read_or_write(member, below(rwlocks));
      default:
        return false;
    }
  }

  bool lock(int member, int m) {
    Mutex& on = mutex_[m];
    if (!is_idle(member)) return false;
    if (on.owner == member && on.kind != Kind::recursive && on.kind != Kind::errorcheck)
      return false;
    const bool blocks = on.owner != nobody && on.owner != member;
    // Waiters are alike only if they hold nothing and wait in the same way.
    if (blocks && (!holds_nothing(member) || coming_back_to(m) > 0)) return false;
    const bool timed = below(4) == 0;
    run(member, "lock m" + std::to_string(m), {Blocked::mutex, m, nobody}, [&on, timed] {
      if (!timed) return taken("lock", pthread_mutex_lock(&on.it), &on.it);
      const timespec far = in(CLOCK_REALTIME, never);
      return taken("lock", pthread_mutex_timedlock(&on.it, &far), &on.it);
    });
    if (on.owner == nobody) {
      take(m, member);
    } else if (on.owner == member && on.kind == Kind::recursive) {
      ++on.depth;
    }
    return true;
  }

  bool try_lock(int member, int m) {
    Mutex& on = mutex_[m];
    if (!is_idle(member)) return false;
    run(member, "trylock m" + std::to_string(m), {},
        [&on] { return taken("trylock", pthread_mutex_trylock(&on.it), &on.it); });
    if (on.owner == nobody) {
      take(m, member);
    } else if (on.owner == member && on.kind == Kind::recursive) {
      ++on.depth;
    }
    return true;
  }

  bool timed_lock(int member, int m) {
    Mutex& on = mutex_[m];
    if (!is_idle(member)) return false;
    if (on.owner == member && on.kind != Kind::recursive && on.kind != Kind::errorcheck)
      return false;
    const int how = below(6);
    // A mutex with a protocol waits by the real-time clock only.
    if ((how == 1 || how == 4) && on.kind == Kind::inherit) return false;
    run(member, "timedlock m" + std::to_string(m) + " " + std::to_string(how), {}, [&on, how] {
      timespec at = in(how == 1 || how == 4 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
      if (how == 2) at = {0, 0};
      if (how == 3) at.tv_nsec = 1'000'000'000;
      if (how == 5) at.tv_sec = -1;
      return how == 1 || how == 4
                 ? taken("clocklock", pthread_mutex_clocklock(&on.it, CLOCK_MONOTONIC, &at), &on.it)
                 : taken("timedlock", pthread_mutex_timedlock(&on.it, &at), &on.it);
    });
    if (on.owner == nobody) {
      take(m, member);
    } else if (on.owner == member && on.kind == Kind::recursive) {
      ++on.depth;
    }
    return true;
  }

  bool unlock(int member, int m) {
    Mutex& on = mutex_[m];
    if (!is_idle(member)) return false;
    const bool checks =
        on.kind == Kind::recursive || on.kind == Kind::errorcheck || on.kind == Kind::robust;
    if (on.owner != member && !checks) return false;
    if (on.owner != member && below(4) != 0) return false;
    const bool last = on.owner == member && --on.depth == 0;
    if (last) released(m);
    run(member, "unlock m" + std::to_string(m), {},
        [&on] { return say("unlock", pthread_mutex_unlock(&on.it)); });
    return true;
  }

  // Holding that mutex and no other, once, so that all who wait are alike.
  bool may_wait(int member, int m, int c) {
    if (!is_idle(member) || mutex_[m].owner != member || mutex_[m].depth != 1) return false;
    for (int other = 0; other < mutexes; ++other) {
      if (other != m && mutex_[other].owner == member) return false;
    }
    if (!holds_no_rwlock(member)) return false;
    return (cond_[c].with == nobody || cond_[c].with == m) && waiting(Blocked::mutex, m) == 0 &&
           mutex_[m].kind != Kind::shared;
  }

  bool wait(int member, int m, int c) {
    if (!may_wait(member, m, c)) return false;
    Cond& on = cond_[c];
    Mutex& with = mutex_[m];
    Member& self = crew(member);
    const int how = below(3);
    on.with = m;
    released(m);
    run(member, "wait c" + std::to_string(c) + " m" + std::to_string(m), {Blocked::cond, c, m},
        [&on, &with, &self, how] { return wait_cancellably(on, with, self, how); });
    return true;
  }

  // Takes a free mutex and waits at once, so that many wait.
  bool go_and_wait(int member, int m, int c) {
    Cond& on = cond_[c];
    Mutex& with = mutex_[m];
    if (!is_idle(member) || !holds_nothing(member) || in_the_way(m) || with.kind == Kind::shared ||
        (on.with != nobody && on.with != m)) {
      return false;
    }
    Member& self = crew(member);
    on.with = m;
    run(member, "go and wait c" + std::to_string(c) + " m" + std::to_string(m),
        {Blocked::cond, c, m}, [&on, &with, &self] {
          // Not told: all who wait have to be alike.
          taken("lock", pthread_mutex_lock(&with.it), &with.it);
          return wait_cancellably(on, with, self, 0);
        });
    return true;
  }

  struct Cleanup {
    Mutex* with;
    Member* self;
  };

  static void clean_up(void* at) {
    auto& it = *static_cast<Cleanup*>(at);
    // Held, and by this thread: a recursive one can be taken once more.
    std::string told = "cleanup " + say("trylock", pthread_mutex_trylock(&it.with->it));
    if (it.with->kind == Kind::recursive) {
      told += ", " + say("unlock", pthread_mutex_unlock(&it.with->it));
    }
    it.self->say(told + ", " + say("unlock", pthread_mutex_unlock(&it.with->it)));
    it.self->gone.store(true);
  }

  static std::string wait_cancellably(Cond& on, Mutex& with, Member& self, int how) {
    Cleanup cleanup{&with, &self};
    int rc = 0;
    pthread_cleanup_push(clean_up, &cleanup);
    const clockid_t clock = on.monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    const timespec far = in(how == 1 ? clock : CLOCK_MONOTONIC, never);
    rc = how == 0   ? pthread_cond_wait(&on.it, &with.it)
         : how == 1 ? pthread_cond_timedwait(&on.it, &with.it, &far)
                    : pthread_cond_clockwait(&on.it, &with.it, CLOCK_MONOTONIC, &far);
    pthread_cleanup_pop(0);
    return taken("wait", rc, &with.it);
  }

  bool wait_a_moment(int member, int m, int c) {
    if (!may_wait(member, m, c)) return false;
    // Nobody may be on the way to the mutex, who would come in between.
    if (coming_back_to(m) > 0) return false;
    Cond& on = cond_[c];
    Mutex& with = mutex_[m];
    const int how = below(4);
    run(member,
        "timedwait c" + std::to_string(c) + " m" + std::to_string(m) + " " + std::to_string(how),
        {}, [&on, &with, how] {
          timespec at = in(on.monotonic || how == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
          if (how == 2) at.tv_nsec = -1;
          if (how == 3) at.tv_sec -= 100;
          return how == 1 ? say("clockwait",
                                pthread_cond_clockwait(&on.it, &with.it, CLOCK_MONOTONIC, &at))
                          : say("timedwait", pthread_cond_timedwait(&on.it, &with.it, &at));
        });
    return true;
  }

  bool wake(int member, int c) {
    Cond& on = cond_[c];
    const int m = on.with;
    const int there = waiting(Blocked::cond, c);
    if (!is_idle(member)) return false;
    // Those who come back and those who come by lock would not be alike.
    if (there > 0 && waiting(Blocked::mutex, m) > 0) return false;
    const bool all = below(3) == 0;
    int woken = all ? there : std::min(there, 1);
    for (int i = 0; i < members && woken > 0; ++i) {
      if (blocked(i).what == Blocked::cond && blocked(i).on == c) {
        // The first of them by name; who it is in truth shows when it comes back.
        blocked(i) = {Blocked::back_from_cond, nobody, m};
        --woken;
      }
    }
    crew(member).order([&on, all] {
      return all ? say("broadcast", pthread_cond_broadcast(&on.it))
                 : say("signal", pthread_cond_signal(&on.it));
    });
    while (crew(member).is_working()) usleep(50);
    settle();
    exchange(c, m);
    std::printf("%d t%d wake c%d: %s\n", number_, member, c, crew(member).take_answer().c_str());
    report();
    return true;
  }

  // After a signal: if another one than the first by name has come back, the two change names.
  void exchange(int c, int m) {
    for (int i = 0; i < members; ++i) {
      if (blocked(i).what != Blocked::cond || blocked(i).on != c || crew(i).is_working()) continue;
      for (int j = 0; j < members; ++j) {
        if (blocked(j).what == Blocked::back_from_cond && blocked(j).with == m &&
            crew(j).is_working()) {
          std::swap(real_[static_cast<std::size_t>(i)], real_[static_cast<std::size_t>(j)]);
          break;
        }
      }
    }
  }

  bool make_mutex(int member, int m) {
    if (!is_idle(member) || in_use(m)) return false;
    Mutex& on = mutex_[m];
    const int how = below(9);
    on.kind = how < 7 ? static_cast<Kind>(how) : how == 7 ? Kind::normal : Kind::recursive;
    run(member,
        std::string("make m") + std::to_string(m) + " " + std::to_string(how) + " " +
            kind_names[static_cast<int>(on.kind)],
        {}, [&on, how] { return init(on, how); });
    return true;
  }

  static std::string init(Mutex& on, int how) {
    const int destroyed = pthread_mutex_destroy(&on.it);
    std::string told = say("destroy", destroyed);
    if (how == 7) {
      on.it = PTHREAD_MUTEX_INITIALIZER;
      return told;
    }
    if (how == 8) {
      on.it = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
      return told;
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    const Kind kind = on.kind;
    if (kind == Kind::recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    if (kind == Kind::errorcheck) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    if (kind == Kind::adaptive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    if (kind == Kind::shared) pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (kind == Kind::inherit) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (kind == Kind::robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    std::memset(&on.it, 0x5A, sizeof on.it);
    told += ", " + say("init", pthread_mutex_init(&on.it, &attributes));
    pthread_mutexattr_destroy(&attributes);
    return told;
  }

  bool make_cond(int member, int c) {
    Cond& on = cond_[c];
    if (!is_idle(member) || waiting(Blocked::cond, c) > 0) return false;
    const bool monotonic = below(2) == 0;
    on.monotonic = monotonic;
    run(member, "make c" + std::to_string(c), {}, [&on, monotonic] {
      std::string told = say("destroy", pthread_cond_destroy(&on.it));
      pthread_condattr_t attributes;
      pthread_condattr_init(&attributes);
      if (monotonic) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
      std::memset(&on.it, 0x5A, sizeof on.it);
      told += ", " + say("init", pthread_cond_init(&on.it, &attributes));
      pthread_condattr_destroy(&attributes);
      return told;
    });
    return true;
  }

  // A signal handler runs in the midst of what the thread is blocked in, which goes on.
  bool interrupt(int member) {
    if (is_idle(member)) return false;
    if (blocked(member).what == Blocked::sem) return false;  // may end with EINTR
    const int before = handled.load();
    pthread_kill(crew(member).handle(), SIGUSR1);
    while (handled.load() == before) usleep(50);
    settle();
    std::printf("%d interrupt t%d: %s\n", number_, member,
                crew(member).is_working() ? "goes on" : "is through");
    report();
    return true;
  }

  bool cancel(int member) {
    const Blocked was = blocked(member);
    if (was.what != Blocked::cond || in_the_way(was.with)) return false;
    pthread_cancel(crew(member).handle());
    while (!crew(member).gone.load()) usleep(50);
    const std::string told = crew(member).take_answer();
    const std::string end = crew(member).renew(true);
    blocked(member) = {};
    std::printf("%d cancel t%d: %s, %s\n", number_, member, told.c_str(), end.c_str());
    settle();
    report();
    return true;
  }

  // Somebody has the mutex or waits for it.
  bool in_the_way(int m) {
    return mutex_[m].owner != nobody || waiting(Blocked::mutex, m) > 0 || coming_back_to(m) > 0;
  }

  // A thread may end with a robust mutex in its hands.
  bool replace(int member) {
    if (!is_idle(member) || !holds_no_rwlock(member)) return false;
    for (Mutex& one : mutex_) {
      if (one.owner == member && one.kind != Kind::robust) return false;
    }
    const std::string end = crew(member).renew(false);
    for (int m = 0; m < mutexes; ++m) {
      if (mutex_[m].owner == member) released(m);
    }
    std::printf("%d replace t%d: %s\n", number_, member, end.c_str());
    settle();
    report();
    return true;
  }

  bool semaphore(int member, int s) {
    if (!is_idle(member)) return false;
    sem_t* on = &sem_[s].it;
    const std::string name = "s" + std::to_string(s);
    switch (below(5)) {
      case 0:
      case 1:
        run(member, "post " + name, {},
            [on] { return say("post", sem_post(on) == 0 ? 0 : errno); });
        return true;
      case 2:
        if (!holds_nothing(member)) return false;
        run(member, "wait " + name, {Blocked::sem, s, nobody},
            [on] { return say("wait", sem_wait(on) == 0 ? 0 : errno); });
        return true;
      case 3:
        run(member, "trywait " + name, {},
            [on] { return say("trywait", sem_trywait(on) == 0 ? 0 : errno); });
        return true;
      default:
        run(member, "timedwait " + name, {}, [on] {
          const timespec at = in(CLOCK_REALTIME, soon);
          int value = 0;
          sem_getvalue(on, &value);
          std::string told = "value " + std::to_string(std::max(value, 0)) + ", ";
          return told + say("timedwait", sem_timedwait(on, &at) == 0 ? 0 : errno);
        });
        return true;
    }
  }

  // In one of the ways, to read or to write. Whether a reader comes in past a waiting writer is left
  // open by POSIX, and so does not happen here.
  bool read_or_write(int member, int r) {
    Rwlock& on = rwlock_[r];
    if (!is_idle(member)) return false;
    const bool writes = below(2) == 0;
    const int how = below(5);
    const bool taken_by_another = (on.writer != nobody && on.writer != member) ||
                                  (writes && readers(r) - (on.reads[member] > 0 ? 1 : 0) > 0);
    const bool own_read = on.reads[member] > 0;
    if (writes && own_read && how != 1) return false;  // waits for itself
    if (!writes && waiting(Blocked::write, r) > 0) return false;
    if (writes && waiting(Blocked::read, r) > 0) return false;
    const bool may_block = how == 0 || how == 4;
    if (may_block && taken_by_another && !holds_nothing(member)) return false;
    const Blocked blocked_in{writes ? Blocked::write : Blocked::read, r, nobody};
    const std::string name = (writes ? "wrlock r" : "rdlock r") + std::to_string(r);
    run(member, name + " " + std::to_string(how), may_block ? blocked_in : Blocked{},
        [&on, writes, how] { return enter(on, writes, how); });
    if (!is_idle(member) || taken_by_another || on.writer == member || (writes && own_read)) {
      return true;
    }
    if (writes) {
      on.writer = member;
    } else {
      ++on.reads[member];
    }
    return true;
  }

  static std::string enter(Rwlock& on, bool writes, int how) {
    timespec at = in(how == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME, how == 4 ? never : soon);
    switch (how) {
      case 0:
        return say("lock", writes ? pthread_rwlock_wrlock(&on.it) : pthread_rwlock_rdlock(&on.it));
      case 1:
        return say("trylock",
                   writes ? pthread_rwlock_trywrlock(&on.it) : pthread_rwlock_tryrdlock(&on.it));
      case 3:
        return say("clocklock", writes ? pthread_rwlock_clockwrlock(&on.it, CLOCK_MONOTONIC, &at)
                                       : pthread_rwlock_clockrdlock(&on.it, CLOCK_MONOTONIC, &at));
      default:
        return say("timedlock", writes ? pthread_rwlock_timedwrlock(&on.it, &at)
                                       : pthread_rwlock_timedrdlock(&on.it, &at));
    }
  }

  bool end_of_read_or_write(int member, int r) {
    Rwlock& on = rwlock_[r];
    if (!is_idle(member) || (on.writer != member && on.reads[member] == 0)) return false;
    if (on.writer == member) {
      on.writer = nobody;
    } else {
      --on.reads[member];
    }
    run(member, "unlock r" + std::to_string(r), {},
        [&on] { return say("unlock", pthread_rwlock_unlock(&on.it)); });
    return true;
  }

  // The child has one thread, which holds what its parent's thread held.
  bool fork_by(int member) {
    if (!is_idle(member)) return false;
    run(member, "fork", {}, [this, member] { return in_a_child(member); });
    return true;
  }

  std::string in_a_child(int member) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const std::string told = child_says(member);
      if (write(ends[1], told.data(), told.size()) < 0) _exit(1);
      _exit(0);
    }
    close(ends[1]);
    std::string told;
    char buffer[512];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
      told.append(buffer, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return told +
           (WIFSIGNALED(status) ? ", killed" : ", exit " + std::to_string(WEXITSTATUS(status)));
  }

  std::string child_says(int member) {
    std::string told;
    for (int m = 0; m < mutexes; ++m) {
      Mutex& on = mutex_[m];
      // Of a robust or a protocol mutex the kernel knows the parent's thread as the owner.
      if (on.kind == Kind::robust || on.kind == Kind::inherit || on.kind == Kind::shared ||
          on.kind == Kind::errorcheck || on.kind == Kind::recursive) {
        continue;
      }
      if (on.owner == member) {
        for (int i = on.depth; i > 0; --i) told += say(" unlock", pthread_mutex_unlock(&on.it));
      } else if (on.owner != nobody) {
        told += say(" trylock", pthread_mutex_trylock(&on.it));
        continue;
      }
      told += say(" lock", pthread_mutex_lock(&on.it));
      told += say(" trylock", pthread_mutex_trylock(&on.it));
      told += say(" unlock", pthread_mutex_unlock(&on.it));
    }
    static Mutex fresh;
    static Cond turn;
    static bool come = false;
    pthread_t other;
    pthread_mutex_lock(&fresh.it);
    const int made = pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          pthread_mutex_lock(&fresh.it);
          come = true;
          pthread_cond_signal(&turn.it);
          pthread_mutex_unlock(&fresh.it);
          return nullptr;
        },
        nullptr);
    told += say(" create", made);
    while (made == 0 && !come) told += say(" wait", pthread_cond_wait(&turn.it, &fresh.it));
    pthread_mutex_unlock(&fresh.it);
    if (made == 0) pthread_join(other, nullptr);
    return told;
  }

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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: fuzz SEED STEPS\n", stderr);
    return 2;
  }
  struct sigaction action{};
  action.sa_handler = [](int) { handled.fetch_add(1); };
  sigaction(SIGUSR1, &action, nullptr);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Program program(std::strtoull(argv[1], nullptr, 10));
  const int steps = std::atoi(argv[2]);
  for (int number = 0; number < steps; ++number) program.step(number);
  std::puts("end");
  std::fflush(stdout);
  _exit(0);  // some may be blocked
}
