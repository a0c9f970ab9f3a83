#include "real.hpp"

#include <dlfcn.h>

#include "export.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::preload {
namespace {

/// The next definition of `name` after this library, of the named version:
/// plain dlsym may return the condition variables of 2002.
template <class Function>
void find(Function*& target, const char* name, const char* version) {
  void* found = dlvsym(RTLD_NEXT, name, version);
  if (found == nullptr) {
    found = dlsym(RTLD_NEXT, name);
  }
  if (found == nullptr) {
    native_env::complain("the C library has no ", name, "; glibc 2.34 or later is needed");
    __builtin_trap();
  }
  target = reinterpret_cast<Function*>(found);
}

void find_all() {
  real_functions f;
  find(f.mutex_init, "pthread_mutex_init", BASE_VERSION);
  find(f.mutex_destroy, "pthread_mutex_destroy", BASE_VERSION);
  find(f.mutex_lock, "pthread_mutex_lock", BASE_VERSION);
  find(f.mutex_trylock, "pthread_mutex_trylock", "GLIBC_2.34");
  find(f.mutex_unlock, "pthread_mutex_unlock", BASE_VERSION);
  find(f.mutex_timedlock, "pthread_mutex_timedlock", "GLIBC_2.34");
  find(f.mutex_clocklock, "pthread_mutex_clocklock", "GLIBC_2.34");
  find(f.cond_init, "pthread_cond_init", COND_VERSION);
  find(f.cond_destroy, "pthread_cond_destroy", COND_VERSION);
  find(f.cond_wait, "pthread_cond_wait", COND_VERSION);
  find(f.cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
  find(f.cond_clockwait, "pthread_cond_clockwait", "GLIBC_2.34");
  find(f.cond_signal, "pthread_cond_signal", COND_VERSION);
  find(f.cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
  find(f.sem_init, "sem_init", "GLIBC_2.34");
  find(f.sem_destroy, "sem_destroy", "GLIBC_2.34");
  find(f.sem_wait, "sem_wait", "GLIBC_2.34");
  find(f.sem_trywait, "sem_trywait", "GLIBC_2.34");
  find(f.sem_timedwait, "sem_timedwait", "GLIBC_2.34");
  find(f.sem_clockwait, "sem_clockwait", "GLIBC_2.34");
  find(f.sem_post, "sem_post", "GLIBC_2.34");
  find(f.sem_getvalue, "sem_getvalue", "GLIBC_2.34");
  find(f.rwlock_init, "pthread_rwlock_init", "GLIBC_2.34");
  find(f.rwlock_destroy, "pthread_rwlock_destroy", "GLIBC_2.34");
  find(f.rwlock_rdlock, "pthread_rwlock_rdlock", "GLIBC_2.34");
  find(f.rwlock_tryrdlock, "pthread_rwlock_tryrdlock", "GLIBC_2.34");
  find(f.rwlock_timedrdlock, "pthread_rwlock_timedrdlock", "GLIBC_2.34");
  find(f.rwlock_clockrdlock, "pthread_rwlock_clockrdlock", "GLIBC_2.34");
  find(f.rwlock_wrlock, "pthread_rwlock_wrlock", "GLIBC_2.34");
  find(f.rwlock_trywrlock, "pthread_rwlock_trywrlock", "GLIBC_2.34");
  find(f.rwlock_timedwrlock, "pthread_rwlock_timedwrlock", "GLIBC_2.34");
  find(f.rwlock_clockwrlock, "pthread_rwlock_clockwrlock", "GLIBC_2.34");
  find(f.rwlock_unlock, "pthread_rwlock_unlock", "GLIBC_2.34");
  find(f.spin_init, "pthread_spin_init", "GLIBC_2.34");
  find(f.spin_destroy, "pthread_spin_destroy", "GLIBC_2.34");
  find(f.spin_lock, "pthread_spin_lock", "GLIBC_2.34");
  find(f.spin_trylock, "pthread_spin_trylock", "GLIBC_2.34");
  find(f.spin_unlock, "pthread_spin_unlock", "GLIBC_2.34");
  find(f.dlopen, "dlopen", "GLIBC_2.34");
  find(f.register_atfork, "__register_atfork", COND_VERSION);
  real = f;  // threads that race here store the same values
}

/// The stub of one member: looks everything up, then makes the call.
template <auto Member>
struct stub;

template <class Result, class... Arguments, Result (*real_functions::*Member)(Arguments...)>
struct stub<Member> {
  static Result call(Arguments... arguments) {
    find_all();
    return (real.*Member)(arguments...);
  }
};

}  // namespace

constinit real_functions real = {
    .mutex_init = stub<&real_functions::mutex_init>::call,
    .mutex_destroy = stub<&real_functions::mutex_destroy>::call,
    .mutex_lock = stub<&real_functions::mutex_lock>::call,
    .mutex_trylock = stub<&real_functions::mutex_trylock>::call,
    .mutex_unlock = stub<&real_functions::mutex_unlock>::call,
    .mutex_timedlock = stub<&real_functions::mutex_timedlock>::call,
    .mutex_clocklock = stub<&real_functions::mutex_clocklock>::call,
    .cond_init = stub<&real_functions::cond_init>::call,
    .cond_destroy = stub<&real_functions::cond_destroy>::call,
    .cond_wait = stub<&real_functions::cond_wait>::call,
    .cond_timedwait = stub<&real_functions::cond_timedwait>::call,
    .cond_clockwait = stub<&real_functions::cond_clockwait>::call,
    .cond_signal = stub<&real_functions::cond_signal>::call,
    .cond_broadcast = stub<&real_functions::cond_broadcast>::call,
    .sem_init = stub<&real_functions::sem_init>::call,
    .sem_destroy = stub<&real_functions::sem_destroy>::call,
    .sem_wait = stub<&real_functions::sem_wait>::call,
    .sem_trywait = stub<&real_functions::sem_trywait>::call,
    .sem_timedwait = stub<&real_functions::sem_timedwait>::call,
    .sem_clockwait = stub<&real_functions::sem_clockwait>::call,
    .sem_post = stub<&real_functions::sem_post>::call,
    .sem_getvalue = stub<&real_functions::sem_getvalue>::call,
    .rwlock_init = stub<&real_functions::rwlock_init>::call,
    .rwlock_destroy = stub<&real_functions::rwlock_destroy>::call,
    .rwlock_rdlock = stub<&real_functions::rwlock_rdlock>::call,
    .rwlock_tryrdlock = stub<&real_functions::rwlock_tryrdlock>::call,
    .rwlock_timedrdlock = stub<&real_functions::rwlock_timedrdlock>::call,
    .rwlock_clockrdlock = stub<&real_functions::rwlock_clockrdlock>::call,
    .rwlock_wrlock = stub<&real_functions::rwlock_wrlock>::call,
    .rwlock_trywrlock = stub<&real_functions::rwlock_trywrlock>::call,
    .rwlock_timedwrlock = stub<&real_functions::rwlock_timedwrlock>::call,
    .rwlock_clockwrlock = stub<&real_functions::rwlock_clockwrlock>::call,
    .rwlock_unlock = stub<&real_functions::rwlock_unlock>::call,
    .spin_init = stub<&real_functions::spin_init>::call,
    .spin_destroy = stub<&real_functions::spin_destroy>::call,
    .spin_lock = stub<&real_functions::spin_lock>::call,
    .spin_trylock = stub<&real_functions::spin_trylock>::call,
    .spin_unlock = stub<&real_functions::spin_unlock>::call,
    .dlopen = stub<&real_functions::dlopen>::call,
    .register_atfork = stub<&real_functions::register_atfork>::call,
};

}  // namespace lockwright::preload
