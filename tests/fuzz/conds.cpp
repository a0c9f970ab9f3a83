// Steps with condition variables: waiting, waking, and being cancelled meanwhile.
#include "program.hpp"

namespace fuzz {

namespace {

struct Cleanup {
  Mutex* with;
  Member* self;
};

void clean_up(void* at) {
  auto& it = *static_cast<Cleanup*>(at);
  // Held, and by this thread: a recursive one can be taken once more.
  std::string told = "cleanup " + say("trylock", pthread_mutex_trylock(&it.with->it));
  if (it.with->kind == Kind::recursive) {
    told += ", " + say("unlock", pthread_mutex_unlock(&it.with->it));
  }
  it.self->say(told + ", " + say("unlock", pthread_mutex_unlock(&it.with->it)));
  it.self->gone.store(true);
}

std::string wait_cancellably(Cond& on, Mutex& with, Member& self, int how) {
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

}  // namespace

bool Program::may_wait(int member, int m, int c) {
  if (!is_idle(member) || mutex_[m].owner != member || mutex_[m].depth != 1) return false;
  for (int other = 0; other < mutexes; ++other) {
    if (other != m && mutex_[other].owner == member) return false;
  }
  if (!holds_no_rwlock(member)) return false;
  return (cond_[c].with == nobody || cond_[c].with == m) && waiting(Blocked::mutex, m) == 0 &&
         mutex_[m].kind != Kind::shared;
}

bool Program::wait(int member, int m, int c) {
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

bool Program::go_and_wait(int member, int m, int c) {
  Cond& on = cond_[c];
  Mutex& with = mutex_[m];
  if (!is_idle(member) || !holds_nothing(member) || is_in_the_way(m) || with.kind == Kind::shared ||
      (on.with != nobody && on.with != m)) {
    return false;
  }
  Member& self = crew(member);
  on.with = m;
  run(member, "go and wait c" + std::to_string(c) + " m" + std::to_string(m), {Blocked::cond, c, m},
      [&on, &with, &self] {
        // Not printed: all waiters have to be alike.
        taken("lock", pthread_mutex_lock(&with.it), &with.it);
        return wait_cancellably(on, with, self, 0);
      });
  return true;
}

bool Program::wait_a_moment(int member, int m, int c) {
  if (!may_wait(member, m, c)) return false;
  // No thread may be on the way to the mutex, because it would come in between.
  if (coming_back_to(m) > 0) return false;
  Cond& on = cond_[c];
  Mutex& with = mutex_[m];
  const int how = below(4);
  run(member,
      "timedwait c" + std::to_string(c) + " m" + std::to_string(m) + " " + std::to_string(how), {},
      [&on, &with, how] {
        timespec at = in(on.monotonic || how == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, soon);
        if (how == 2) at.tv_nsec = -1;
        if (how == 3) at.tv_sec -= 100;
        return how == 1 ? say("clockwait",
                              pthread_cond_clockwait(&on.it, &with.it, CLOCK_MONOTONIC, &at))
                        : say("timedwait", pthread_cond_timedwait(&on.it, &with.it, &at));
      });
  return true;
}

bool Program::wake(int member, int c) {
  Cond& on = cond_[c];
  const int m = on.with;
  const int there = waiting(Blocked::cond, c);
  if (!is_idle(member)) return false;
  // Waiters that return and threads that lock would not be alike.
  if (there > 0 && waiting(Blocked::mutex, m) > 0) return false;
  const bool all = below(3) == 0;
  int woken = all ? there : std::min(there, 1);
  for (int i = 0; i < members && woken > 0; ++i) {
    if (blocked(i).what == Blocked::cond && blocked(i).on == c) {
      // The first of them by name; which one it is shows when it returns.
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
  std::printf("%d t%d wake c%d: %s\n", number_, member, c, crew(member).take_answer().c_str());
  report();
  return true;
}

void Program::exchange(int c) {
  const int m = cond_[c].with;
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

bool Program::make_cond(int member, int c) {
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

bool Program::cancel(int member) {
  const Blocked was = blocked(member);
  if (was.what != Blocked::cond || is_in_the_way(was.with)) return false;
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

}  // namespace fuzz
