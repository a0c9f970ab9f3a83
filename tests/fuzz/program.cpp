// The choice of steps, and the record of the threads that proceed.
#include "program.hpp"

namespace fuzz {

Program::Program(std::uint64_t seed) : random_(seed) {
  for (int i = 0; i < members; ++i) {
    threads_.push_back(std::make_unique<Member>());
    real_.push_back(i);
  }
  blocked_.resize(members);
  for (Sem& sem : sem_) sem_init(&sem.object, 0, 0);
}

void Program::step(int number) {
  number_ = number;
  // Most draws are not legal in the present state; then another is drawn.
  while (!draw()) {
  }
}

bool Program::holds_nothing(int member) {
  return std::none_of(std::begin(mutex_), std::end(mutex_),
                      [&](const Mutex& m) { return m.owner == member; }) &&
         holds_no_rwlock(member);
}

bool Program::in_use(int m) {
  return mutex_[m].owner != unset || waiting(Blocked::mutex, m) + returning_to(m) > 0 ||
         std::any_of(blocked_.begin(), blocked_.end(),
                     [&](const Blocked& b) { return b.what == Blocked::cond && b.with == m; });
}

bool Program::is_a_thread_due() {
  for (int m = 0; m < mutexes; ++m) {
    if (mutex_[m].owner != unset) continue;
    bool wanted = false;
    bool proceeds = false;
    for (int i = 0; i < members; ++i) {
      const Blocked& b = blocked(i);
      const bool wants = (b.what == Blocked::mutex && b.on == m) ||
                         (b.what == Blocked::leaving_cond && b.with == m);
      wanted = wanted || wants;
      proceeds = proceeds || ((wants || (b.what == Blocked::cond && b.with == m)) &&
                              !thread_of(i).is_working());
    }
    if (wanted && !proceeds) return true;
  }
  for (int r = 0; r < rwlocks; ++r) {
    if (rwlock_[r].writer != unset) continue;
    // All readers proceed; one writer does if there are no readers.
    bool proceeds = false;
    for (int i = 0; i < members; ++i) {
      if (blocked(i).on != r || thread_of(i).is_working()) continue;
      proceeds = proceeds || blocked(i).what == Blocked::write;
    }
    for (int i = 0; i < members; ++i) {
      if (blocked(i).on != r || !thread_of(i).is_working()) continue;
      if (blocked(i).what == Blocked::read) return true;
      if (blocked(i).what == Blocked::write && !proceeds && readers(r) == 0) return true;
    }
  }
  return false;
}

void Program::settle() {
  do {
    fuzz::settle(threads_);
  } while (is_a_thread_due());
}

void Program::run(int member, const std::string& text, const Blocked& if_blocked,
                  std::function<std::string()> work) {
  thread_of(member).assign(std::move(work));
  while (if_blocked.what == Blocked::none && thread_of(member).is_working()) usleep(50);
  settle();
  std::string line = std::to_string(number_) + " t" + std::to_string(member) + " " + text + ": ";
  if (thread_of(member).is_working()) {
    blocked(member) = if_blocked;
    line += "blocks";
  } else {
    line += thread_of(member).take_answer();
  }
  std::puts(line.c_str());
  report();
}

void Program::report() {
  for (int c = 0; c < conds; ++c) exchange(c);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < members; ++i) {
      if (is_idle(i) || thread_of(i).is_working()) continue;
      int first = i;
      for (int j = i - 1; j >= 0; --j) {
        if (blocked(j) == blocked(i)) first = j;
      }
      std::swap(real_[static_cast<std::size_t>(first)], real_[static_cast<std::size_t>(i)]);
      const Blocked was = blocked(first);
      blocked(first) = {};
      const std::string answer = thread_of(first).take_answer();
      std::printf("  t%d: %s\n", first, answer.c_str());
      if (was.what == Blocked::mutex) {
        take(was.on, first);
      } else if (was.what == Blocked::read) {
        ++rwlock_[was.on].reads[first];
      } else if (was.what == Blocked::write) {
        rwlock_[was.on].writer = first;
      } else if (was.what == Blocked::leaving_cond || was.what == Blocked::cond) {
        take(was.with, first);
      }
      again = true;
      break;
    }
  }
  for (int c = 0; c < conds; ++c) {
    if (waiting(Blocked::cond, c) == 0) cond_[c].with = unset;
  }
}

bool Program::draw() {
  const int member = below(members);
  const int m = below(mutexes);
  // Each step in so many of 36 draws, and a cancellation, which is seldom legal, in the rest too.
  int what = below(36);
  const auto drawn = [&what](int times) { return (what -= times) < 0; };
  if (drawn(3)) return lock(member, m);
  if (drawn(4)) return unlock(member, m);
  if (drawn(1)) return try_lock(member, m);
  if (drawn(1)) return timed_lock(member, m);
  if (drawn(3)) return wait(member, m, below(conds));
  if (drawn(2)) return wake(member, below(conds));
  if (drawn(1)) return timed_wait(member, m, below(conds));
  if (drawn(1)) return make_mutex(member, m);
  if (drawn(1)) return make_cond(member, below(conds));
  if (drawn(1)) return interrupt(member);
  if (drawn(1)) return cancel(member);
  if (drawn(1)) return replace(member);
  if (drawn(3)) return semaphore(member, below(sems));
  if (drawn(1)) return below(3) == 0 && fork_by(member);
  if (drawn(3)) return lock_and_wait(member, m, below(conds));
  if (drawn(3)) return read_or_write(member, below(rwlocks));
  if (drawn(3)) return end_of_read_or_write(member, below(rwlocks));
  return cancel(member);
}

}  // namespace fuzz
