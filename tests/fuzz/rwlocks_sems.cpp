// Steps with reader-writer locks and semaphores.
#include "program.hpp"

namespace fuzz {

namespace {

std::string enter(Rwlock& rwlock, bool writes, int how) {
  timespec deadline = in(how == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME, how == 4 ? never : soon);
  switch (how) {
    case 0:
      return result_of("lock", writes ? pthread_rwlock_wrlock(&rwlock.object)
                                      : pthread_rwlock_rdlock(&rwlock.object));
    case 1:
      return result_of("trylock", writes ? pthread_rwlock_trywrlock(&rwlock.object)
                                         : pthread_rwlock_tryrdlock(&rwlock.object));
    case 3:
      return result_of(
          "clocklock",
          writes ? pthread_rwlock_clockwrlock(&rwlock.object, CLOCK_MONOTONIC, &deadline)
                 : pthread_rwlock_clockrdlock(&rwlock.object, CLOCK_MONOTONIC, &deadline));
    default:
      // One that waits for as long as it takes may change places with one that waits in `lock`.
      return result_of(how == 4 ? "lock" : "timedlock",
                       writes ? pthread_rwlock_timedwrlock(&rwlock.object, &deadline)
                              : pthread_rwlock_timedrdlock(&rwlock.object, &deadline));
  }
}

}  // namespace

bool Program::semaphore(int member, int s) {
  if (!is_idle(member)) return false;
  sem_t* sem = &sem_[s].object;
  const std::string name = "s" + std::to_string(s);
  switch (below(5)) {
    case 0:
    case 1:
      run(member, "post " + name, {},
          [sem] { return result_of("post", sem_post(sem) == 0 ? 0 : errno); });
      return true;
    case 2:
      if (!holds_nothing(member)) return false;
      run(member, "wait " + name, {Blocked::sem, s, unset},
          [sem] { return result_of("wait", sem_wait(sem) == 0 ? 0 : errno); });
      return true;
    case 3:
      run(member, "trywait " + name, {},
          [sem] { return result_of("trywait", sem_trywait(sem) == 0 ? 0 : errno); });
      return true;
    default:
      run(member, "timedwait " + name, {}, [sem] {
        const timespec deadline = in(CLOCK_REALTIME, soon);
        int value = 0;
        sem_getvalue(sem, &value);
        std::string line = "value " + std::to_string(std::max(value, 0)) + ", ";
        return line + result_of("timedwait", sem_timedwait(sem, &deadline) == 0 ? 0 : errno);
      });
      return true;
  }
}

bool Program::read_or_write(int member, int r) {
  Rwlock& rwlock = rwlock_[r];
  if (!is_idle(member)) return false;
  const bool writes = below(2) == 0;
  const int how = below(5);
  const bool taken_by_another = (rwlock.writer != unset && rwlock.writer != member) ||
                                (writes && readers(r) - (rwlock.reads[member] > 0 ? 1 : 0) > 0);
  const bool own_read = rwlock.reads[member] > 0;
  if (writes && own_read && how != 1) return false;  // waits for itself
  if (!writes && waiting(Blocked::write, r) > 0) return false;
  if (writes && waiting(Blocked::read, r) > 0) return false;
  const bool may_block = how == 0 || how == 4;
  if (may_block && taken_by_another && !holds_nothing(member)) return false;
  const Blocked blocked_in{writes ? Blocked::write : Blocked::read, r, unset};
  const std::string name = (writes ? "wrlock r" : "rdlock r") + std::to_string(r);
  run(member, name + " " + std::to_string(how), may_block ? blocked_in : Blocked{},
      [&rwlock, writes, how] { return enter(rwlock, writes, how); });
  if (!is_idle(member) || taken_by_another || rwlock.writer == member || (writes && own_read)) {
    return true;
  }
  if (writes) {
    rwlock.writer = member;
  } else {
    ++rwlock.reads[member];
  }
  return true;
}

bool Program::end_of_read_or_write(int member, int r) {
  Rwlock& rwlock = rwlock_[r];
  if (!is_idle(member) || (rwlock.writer != member && rwlock.reads[member] == 0)) return false;
  if (rwlock.writer == member) {
    rwlock.writer = unset;
  } else {
    --rwlock.reads[member];
  }
  run(member, "unlock r" + std::to_string(r), {},
      [&rwlock] { return result_of("unlock", pthread_rwlock_unlock(&rwlock.object)); });
  return true;
}

}  // namespace fuzz
