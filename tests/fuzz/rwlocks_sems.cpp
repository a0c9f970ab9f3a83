// Steps with reader-writer locks and semaphores.
#include "program.hpp"

namespace fuzz {

namespace {

std::string enter(Rwlock& on, bool writes, int how) {
  timespec at = in(how == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME, how == 4 ? never : soon);
  switch (how) {
    case 0:
      return result_of(
          "lock", writes ? pthread_rwlock_wrlock(&on.object) : pthread_rwlock_rdlock(&on.object));
    case 1:
      return result_of("trylock", writes ? pthread_rwlock_trywrlock(&on.object)
                                         : pthread_rwlock_tryrdlock(&on.object));
    case 3:
      return result_of("clocklock",
                       writes ? pthread_rwlock_clockwrlock(&on.object, CLOCK_MONOTONIC, &at)
                              : pthread_rwlock_clockrdlock(&on.object, CLOCK_MONOTONIC, &at));
    default:
      return result_of("timedlock", writes ? pthread_rwlock_timedwrlock(&on.object, &at)
                                           : pthread_rwlock_timedrdlock(&on.object, &at));
  }
}

}  // namespace

bool Program::semaphore(int member, int s) {
  if (!is_idle(member)) return false;
  sem_t* on = &sem_[s].object;
  const std::string name = "s" + std::to_string(s);
  switch (below(5)) {
    case 0:
    case 1:
      run(member, "post " + name, {},
          [on] { return result_of("post", sem_post(on) == 0 ? 0 : errno); });
      return true;
    case 2:
      if (!holds_nothing(member)) return false;
      run(member, "wait " + name, {Blocked::sem, s, nobody},
          [on] { return result_of("wait", sem_wait(on) == 0 ? 0 : errno); });
      return true;
    case 3:
      run(member, "trywait " + name, {},
          [on] { return result_of("trywait", sem_trywait(on) == 0 ? 0 : errno); });
      return true;
    default:
      run(member, "timedwait " + name, {}, [on] {
        const timespec at = in(CLOCK_REALTIME, soon);
        int value = 0;
        sem_getvalue(on, &value);
        std::string line = "value " + std::to_string(std::max(value, 0)) + ", ";
        return line + result_of("timedwait", sem_timedwait(on, &at) == 0 ? 0 : errno);
      });
      return true;
  }
}

bool Program::read_or_write(int member, int r) {
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

bool Program::end_of_read_or_write(int member, int r) {
  Rwlock& on = rwlock_[r];
  if (!is_idle(member) || (on.writer != member && on.reads[member] == 0)) return false;
  if (on.writer == member) {
    on.writer = nobody;
  } else {
    --on.reads[member];
  }
  run(member, "unlock r" + std::to_string(r), {},
      [&on] { return result_of("unlock", pthread_rwlock_unlock(&on.object)); });
  return true;
}

}  // namespace fuzz
