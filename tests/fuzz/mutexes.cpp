// Steps with mutexes: every kind, by every function that locks.
#include "program.hpp"

namespace fuzz {

namespace {

std::string init(Mutex& mutex, int how) {
  const int destroyed = pthread_mutex_destroy(&mutex.object);
  std::string line = result_of("destroy", destroyed);
  if (how == 7) {
    mutex.object = PTHREAD_MUTEX_INITIALIZER;
    return line;
  }
  if (how == 8) {
    mutex.object = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    return line;
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const Kind kind = mutex.kind;
  if (kind == Kind::recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  if (kind == Kind::errorcheck) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  if (kind == Kind::adaptive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
  if (kind == Kind::shared) pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (kind == Kind::inherit) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  if (kind == Kind::robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  std::memset(&mutex.object, 0x5A, sizeof mutex.object);
  line += ", " + result_of("init", pthread_mutex_init(&mutex.object, &attributes));
  pthread_mutexattr_destroy(&attributes);
  return line;
}

}  // namespace

bool Program::lock(int member, int m) {
  Mutex& mutex = mutex_[m];
  if (!is_idle(member)) return false;
  if (mutex.owner == member && mutex.kind != Kind::recursive && mutex.kind != Kind::errorcheck)
    return false;
  const bool blocks = mutex.owner != unset && mutex.owner != member;
  // Waiters are interchangeable only if they hold nothing and none returns from a condition
  // variable.
  if (blocks && (!holds_nothing(member) || returning_to(m) > 0)) return false;
  const bool timed = below(4) == 0;
  run(member, "lock m" + std::to_string(m), {Blocked::mutex, m, unset}, [&mutex, timed] {
    if (!timed) return lock_result("lock", pthread_mutex_lock(&mutex.object), &mutex.object);
    const timespec far = in(CLOCK_REALTIME, never);
    return lock_result("lock", pthread_mutex_timedlock(&mutex.object, &far), &mutex.object);
  });
  locked(m, member);
  return true;
}

bool Program::try_lock(int member, int m) {
  Mutex& mutex = mutex_[m];
  if (!is_idle(member)) return false;
  run(member, "trylock m" + std::to_string(m), {}, [&mutex] {
    return lock_result("trylock", pthread_mutex_trylock(&mutex.object), &mutex.object);
  });
  locked(m, member);
  return true;
}

bool Program::timed_lock(int member, int m) {
  Mutex& mutex = mutex_[m];
  if (!is_idle(member)) return false;
  if (mutex.owner == member && mutex.kind != Kind::recursive && mutex.kind != Kind::errorcheck)
    return false;
  const int how = below(6);
  // A mutex with a protocol waits by the real-time clock only.
  if ((how == 1 || how == 4) && mutex.kind == Kind::inherit) return false;
  run(member, "timedlock m" + std::to_string(m) + " " + std::to_string(how), {}, [&mutex, how] {
    timespec deadline = in(how == 1 || how == 4 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
    if (how == 2) deadline = {0, 0};
    if (how == 3) deadline.tv_nsec = 1'000'000'000;
    if (how == 5) deadline.tv_sec = -1;
    return how == 1 || how == 4
               ? lock_result("clocklock",
                             pthread_mutex_clocklock(&mutex.object, CLOCK_MONOTONIC, &deadline),
                             &mutex.object)
               : lock_result("timedlock", pthread_mutex_timedlock(&mutex.object, &deadline),
                             &mutex.object);
  });
  locked(m, member);
  return true;
}

void Program::locked(int m, int member) {
  Mutex& mutex = mutex_[m];
  if (mutex.owner == unset) {
    take(m, member);
  } else if (mutex.owner == member && mutex.kind == Kind::recursive) {
    ++mutex.depth;
  }
}

bool Program::unlock(int member, int m) {
  Mutex& mutex = mutex_[m];
  if (!is_idle(member)) return false;
  const bool checks =
      mutex.kind == Kind::recursive || mutex.kind == Kind::errorcheck || mutex.kind == Kind::robust;
  if (mutex.owner != member && !checks) return false;
  if (mutex.owner != member && below(4) != 0) return false;
  const bool last = mutex.owner == member && --mutex.depth == 0;
  if (last) released(m);
  run(member, "unlock m" + std::to_string(m), {},
      [&mutex] { return result_of("unlock", pthread_mutex_unlock(&mutex.object)); });
  return true;
}

bool Program::make_mutex(int member, int m) {
  if (!is_idle(member) || in_use(m)) return false;
  Mutex& mutex = mutex_[m];
  const int how = below(9);
  mutex.kind = how < 7 ? static_cast<Kind>(how) : how == 7 ? Kind::normal : Kind::recursive;
  run(member,
      std::string("make m") + std::to_string(m) + " " + std::to_string(how) + " " +
          kind_names[static_cast<int>(mutex.kind)],
      {}, [&mutex, how] { return init(mutex, how); });
  return true;
}

}  // namespace fuzz
