#include "preload/exclusive_rwlock.hpp"

#include <new>

#include "preload/chosen.hpp"
#include "preload/library_lock.hpp"
#include "preload/replaced_rwlock.hpp"

namespace lockwright::preload {
namespace {

template <class L>
struct in_rwlock {
  using type = L;
};

template <class Env>
struct in_rwlock<libc_mutex<Env>> {
  using type = library_lock;
};

using replaced = replaced_rwlock<exclusive_core<in_rwlock<chosen_lock>::type>>;

}  // namespace

void exclusive_rwlock::make(kind_word kind) { ::new (static_cast<void*>(&lock)) replaced(kind); }
int exclusive_rwlock::destroy() { return replaced::adopted(&lock).destroy(); }
int exclusive_rwlock::rdlock() { return replaced::adopted(&lock).rdlock(); }
int exclusive_rwlock::tryrdlock() { return replaced::adopted(&lock).tryrdlock(); }
int exclusive_rwlock::clockrdlock(deadline_clock clock, const timespec* deadline) {
  return replaced::adopted(&lock).clockrdlock(clock, deadline);
}
int exclusive_rwlock::wrlock() { return replaced::adopted(&lock).wrlock(); }
int exclusive_rwlock::trywrlock() { return replaced::adopted(&lock).trywrlock(); }
int exclusive_rwlock::clockwrlock(deadline_clock clock, const timespec* deadline) {
  return replaced::adopted(&lock).clockwrlock(clock, deadline);
}
int exclusive_rwlock::unlock() { return replaced::adopted(&lock).unlock(); }

}  // namespace lockwright::preload
