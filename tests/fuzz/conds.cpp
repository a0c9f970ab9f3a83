// Steps with condition variables: waiting, waking, and being cancelled meanwhile.
#include "program.hpp"

namespace fuzz {

namespace {

struct Cleanup {
  Mutex* mutex;
  Member* self;
};

void clean_up(void* argument) {
  auto& cleanup = *static_cast<Cleanup*>(argument);
  // Held by this thread: it can lock a recursive mutex once more.
  std::string line =
      "cleanup " + result_of("trylock", pthread_mutex_trylock(&cleanup.mutex->object));
  if (cleanup.mutex->kind == Kind::recursive) {
    line += ", " + result_of("unlock", pthread_mutex_unlock(&cleanup.mutex->object));
  }
  cleanup.self->set_answer(line + ", " +
                           result_of("unlock", pthread_mutex_unlock(&cleanup.mutex->object)));
  cleanup.self->gone.store(true);
}

std::string wait_cancellably(Cond& cond, Mutex& mutex, Member& self, int how) {
  Cleanup cleanup{&mutex, &self};
  int rc = 0;
  pthread_cleanup_push(clean_up, &cleanup);
  const clockid_t clock = cond.monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  const timespec far = in(how == 1 ? clock : CLOCK_MONOTONIC, never);
  rc = how == 0   ? pthread_cond_wait(&cond.object, &mutex.object)
       : how == 1 ? pthread_cond_timedwait(&cond.object, &mutex.object, &far)
                  : pthread_cond_clockwait(&cond.object, &mutex.object, CLOCK_MONOTONIC, &far);
  pthread_cleanup_pop(0);
  return lock_result("wait", rc, &mutex.object);
}

}  // namespace

bool Program::may_wait(int member, int m, int c) {
  if (!is_idle(member) || mutex_[m].owner != member || mutex_[m].depth != 1) return false;
  for (int other = 0; other < mutexes; ++other) {
    if (other != m && mutex_[other].owner == member) return false;
  }
  if (!holds_no_rwlock(member)) return false;
  return (cond_[c].with == unset || cond_[c].with == m) && waiting(Blocked::mutex, m) == 0 &&
         mutex_[m].kind != Kind::shared;
}

bool Program::wait(int member, int m, int c) {
  if (!may_wait(member, m, c)) return false;
  Cond& cond = cond_[c];
  Mutex& mutex = mutex_[m];
  Member& self = thread_of(member);
  const int how = below(3);
  cond.with = m;
  released(m);
  run(member, "wait c" + std::to_string(c) + " m" + std::to_string(m), {Blocked::cond, c, m},
      [&cond, &mutex, &self, how] { return wait_cancellably(cond, mutex, self, how); });
  return true;
}

bool Program::lock_and_wait(int member, int m, int c) {
  Cond& cond = cond_[c];
  Mutex& mutex = mutex_[m];
  if (!is_idle(member) || !holds_nothing(member) || is_busy(m) || mutex.kind == Kind::shared ||
      (cond.with != unset && cond.with != m)) {
    return false;
  }
  Member& self = thread_of(member);
  cond.with = m;
  run(member, "lock and wait c" + std::to_string(c) + " m" + std::to_string(m),
      {Blocked::cond, c, m}, [&cond, &mutex, &self] {
        // Not printed: all waiters have to be interchangeable.
        lock_result("lock", pthread_mutex_lock(&mutex.object), &mutex.object);
        return wait_cancellably(cond, mutex, self, 0);
      });
  return true;
}

bool Program::timed_wait(int member, int m, int c) {
  if (!may_wait(member, m, c)) return false;
  // No thread may be about to acquire the mutex, because it would do so in between.
  if (returning_to(m) > 0) return false;
  Cond& cond = cond_[c];
  Mutex& mutex = mutex_[m];
  const int how = below(4);
  run(member,
      "timedwait c" + std::to_string(c) + " m" + std::to_string(m) + " " + std::to_string(how), {},
      [&cond, &mutex, how] {
        timespec deadline = in(cond.monotonic || how == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
        if (how == 2) deadline.tv_nsec = -1;
        if (how == 3) deadline.tv_sec -= 100;
        return how == 1 ? result_of("clockwait", pthread_cond_clockwait(&cond.object, &mutex.object,
                                                                        CLOCK_MONOTONIC, &deadline))
                        : result_of("timedwait",
                                    pthread_cond_timedwait(&cond.object, &mutex.object, &deadline));
      });
  return true;
}

bool Program::wake(int member, int c) {
  Cond& cond = cond_[c];
  const int m = cond.with;
  const int waiters = waiting(Blocked::cond, c);
  if (!is_idle(member)) return false;
  // Waiters that return and threads that lock would not be interchangeable.
  if (waiters > 0 && waiting(Blocked::mutex, m) > 0) return false;
  const bool all = below(3) == 0;
  int woken = all ? waiters : std::min(waiters, 1);
  for (int i = 0; i < members && woken > 0; ++i) {
    if (blocked(i).what == Blocked::cond && blocked(i).on == c) {
      // The first of them by name, corrected when a waiter returns.
      blocked(i) = {Blocked::leaving_cond, unset, m};
      --woken;
    }
  }
  thread_of(member).assign([&cond, all] {
    return all ? result_of("broadcast", pthread_cond_broadcast(&cond.object))
               : result_of("signal", pthread_cond_signal(&cond.object));
  });
  while (thread_of(member).is_working()) usleep(50);
  settle();
  std::printf("%d t%d wake c%d: %s\n", number_, member, c, thread_of(member).take_answer().c_str());
  report();
  return true;
}

void Program::exchange(int c) {
  const int m = cond_[c].with;
  for (int i = 0; i < members; ++i) {
    if (blocked(i).what != Blocked::cond || blocked(i).on != c || thread_of(i).is_working())
      continue;
    for (int j = 0; j < members; ++j) {
      if (blocked(j).what == Blocked::leaving_cond && blocked(j).with == m &&
          thread_of(j).is_working()) {
        std::swap(real_[static_cast<std::size_t>(i)], real_[static_cast<std::size_t>(j)]);
        break;
      }
    }
  }
}

bool Program::make_cond(int member, int c) {
  Cond& cond = cond_[c];
  if (!is_idle(member) || waiting(Blocked::cond, c) > 0) return false;
  const bool monotonic = below(2) == 0;
  cond.monotonic = monotonic;
  run(member, "make c" + std::to_string(c), {}, [&cond, monotonic] {
    std::string line = result_of("destroy", pthread_cond_destroy(&cond.object));
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    if (monotonic) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    std::memset(&cond.object, 0x5A, sizeof cond.object);
    line += ", " + result_of("init", pthread_cond_init(&cond.object, &attributes));
    pthread_condattr_destroy(&attributes);
    return line;
  });
  return true;
}

bool Program::cancel(int member) {
  const Blocked was = blocked(member);
  if (was.what != Blocked::cond || is_busy(was.with)) return false;
  pthread_cancel(thread_of(member).handle());
  while (!thread_of(member).gone.load()) usleep(50);
  const std::string line = thread_of(member).take_answer();
  const std::string end = thread_of(member).restart(true);
  blocked(member) = {};
  std::printf("%d cancel t%d: %s, %s\n", number_, member, line.c_str(), end.c_str());
  settle();
  report();
  return true;
}

}  // namespace fuzz
