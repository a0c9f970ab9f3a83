// Steps with mutexes: every kind, by every function that locks.
#include "program.hpp"

namespace fuzz {

namespace {

std::string init(Mutex& on, int how) {
  const int destroyed = pthread_mutex_destroy(&on.object);
  std::string line = result_of("destroy", destroyed);
  if (how == 7) {
    on.object = PTHREAD_MUTEX_INITIALIZER;
    return line;
  }
  if (how == 8) {
    on.object = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    return line;
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
  std::memset(&on.object, 0x5A, sizeof on.object);
  line += ", " + result_of("init", pthread_mutex_init(&on.object, &attributes));
  pthread_mutexattr_destroy(&attributes);
  return line;
}

}  // namespace

bool Program::lock(int member, int m) {
  Mutex& on = mutex_[m];
  if (!is_idle(member)) return false;
  if (on.owner == member && on.kind != Kind::recursive && on.kind != Kind::errorcheck) return false;
  const bool blocks = on.owner != nobody && on.owner != member;
  // Waiters are interchangeable only if they hold nothing and none returns from a condition
  // variable.
  if (blocks && (!holds_nothing(member) || returning_to(m) > 0)) return false;
  const bool timed = below(4) == 0;
  run(member, "lock m" + std::to_string(m), {Blocked::mutex, m, nobody}, [&on, timed] {
    if (!timed) return lock_result("lock", pthread_mutex_lock(&on.object), &on.object);
    const timespec far = in(CLOCK_REALTIME, never);
    return lock_result("lock", pthread_mutex_timedlock(&on.object, &far), &on.object);
  });
  locked(m, member);
  return true;
}

bool Program::try_lock(int member, int m) {
  Mutex& on = mutex_[m];
  if (!is_idle(member)) return false;
  run(member, "trylock m" + std::to_string(m), {},
      [&on] { return lock_result("trylock", pthread_mutex_trylock(&on.object), &on.object); });
  locked(m, member);
  return true;
}

bool Program::timed_lock(int member, int m) {
  Mutex& on = mutex_[m];
  if (!is_idle(member)) return false;
  if (on.owner == member && on.kind != Kind::recursive && on.kind != Kind::errorcheck) return false;
  const int how = below(6);
  // A mutex with a protocol waits by the real-time clock only.
  if ((how == 1 || how == 4) && on.kind == Kind::inherit) return false;
  run(member, "timedlock m" + std::to_string(m) + " " + std::to_string(how), {}, [&on, how] {
    timespec at = in(how == 1 || how == 4 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
    if (how == 2) at = {0, 0};
    if (how == 3) at.tv_nsec = 1'000'000'000;
    if (how == 5) at.tv_sec = -1;
    return how == 1 || how == 4
               ? lock_result("clocklock", pthread_mutex_clocklock(&on.object, CLOCK_MONOTONIC, &at),
                             &on.object)
               : lock_result("timedlock", pthread_mutex_timedlock(&on.object, &at), &on.object);
  });
  locked(m, member);
  return true;
}

void Program::locked(int m, int member) {
  Mutex& on = mutex_[m];
  if (on.owner == nobody) {
    take(m, member);
  } else if (on.owner == member && on.kind == Kind::recursive) {
    ++on.depth;
  }
}

bool Program::unlock(int member, int m) {
  Mutex& on = mutex_[m];
  if (!is_idle(member)) return false;
  const bool checks =
      on.kind == Kind::recursive || on.kind == Kind::errorcheck || on.kind == Kind::robust;
  if (on.owner != member && !checks) return false;
  if (on.owner != member && below(4) != 0) return false;
  const bool last = on.owner == member && --on.depth == 0;
  if (last) released(m);
  run(member, "unlock m" + std::to_string(m), {},
      [&on] { return result_of("unlock", pthread_mutex_unlock(&on.object)); });
  return true;
}

bool Program::make_mutex(int member, int m) {
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

}  // namespace fuzz
