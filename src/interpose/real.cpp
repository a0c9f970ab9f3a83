#include "interpose/real.hpp"

#include <dlfcn.h>

#include "interpose/export.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::interpose {
namespace {

/// The definition of `name` in `where`, of the named version: plain dlsym may return the condition
/// variables of 2002.
template <class Function>
void find(Function*& target, void* where, const char* name, const char* version) {
  void* found = dlvsym(where, name, version);
  if (found == nullptr) {
    found = dlsym(where, name);
  }
  if (found == nullptr) {
    native_env::complain("the C library has no ", name, "; glibc 2.34 or later is needed");
    __builtin_trap();
  }
  target = reinterpret_cast<Function*>(found);
}

}  // namespace

void find_real_functions(void* where) {
  real_functions f;
  find(f.mutex_init, where, "pthread_mutex_init", BASE_VERSION);
  find(f.mutex_destroy, where, "pthread_mutex_destroy", BASE_VERSION);
  find(f.mutex_lock, where, "pthread_mutex_lock", BASE_VERSION);
  find(f.mutex_trylock, where, "pthread_mutex_trylock", "GLIBC_2.34");
  find(f.mutex_unlock, where, "pthread_mutex_unlock", BASE_VERSION);
  find(f.mutex_timedlock, where, "pthread_mutex_timedlock", "GLIBC_2.34");
  find(f.mutex_clocklock, where, "pthread_mutex_clocklock", "GLIBC_2.34");
  find(f.cond_init, where, "pthread_cond_init", COND_VERSION);
  find(f.cond_destroy, where, "pthread_cond_destroy", COND_VERSION);
  find(f.cond_wait, where, "pthread_cond_wait", COND_VERSION);
  find(f.cond_timedwait, where, "pthread_cond_timedwait", COND_VERSION);
  find(f.cond_clockwait, where, "pthread_cond_clockwait", "GLIBC_2.34");
  find(f.cond_signal, where, "pthread_cond_signal", COND_VERSION);
  find(f.cond_broadcast, where, "pthread_cond_broadcast", COND_VERSION);
  find(f.sem_init, where, "sem_init", "GLIBC_2.34");
  find(f.sem_destroy, where, "sem_destroy", "GLIBC_2.34");
  find(f.sem_wait, where, "sem_wait", "GLIBC_2.34");
  find(f.sem_trywait, where, "sem_trywait", "GLIBC_2.34");
  find(f.sem_timedwait, where, "sem_timedwait", "GLIBC_2.34");
  find(f.sem_clockwait, where, "sem_clockwait", "GLIBC_2.34");
  find(f.sem_post, where, "sem_post", "GLIBC_2.34");
  find(f.sem_getvalue, where, "sem_getvalue", "GLIBC_2.34");
  find(f.rwlock_init, where, "pthread_rwlock_init", "GLIBC_2.34");
  find(f.rwlock_destroy, where, "pthread_rwlock_destroy", "GLIBC_2.34");
  find(f.rwlock_rdlock, where, "pthread_rwlock_rdlock", "GLIBC_2.34");
  find(f.rwlock_tryrdlock, where, "pthread_rwlock_tryrdlock", "GLIBC_2.34");
  find(f.rwlock_timedrdlock, where, "pthread_rwlock_timedrdlock", "GLIBC_2.34");
  find(f.rwlock_clockrdlock, where, "pthread_rwlock_clockrdlock", "GLIBC_2.34");
  find(f.rwlock_wrlock, where, "pthread_rwlock_wrlock", "GLIBC_2.34");
  find(f.rwlock_trywrlock, where, "pthread_rwlock_trywrlock", "GLIBC_2.34");
  find(f.rwlock_timedwrlock, where, "pthread_rwlock_timedwrlock", "GLIBC_2.34");
  find(f.rwlock_clockwrlock, where, "pthread_rwlock_clockwrlock", "GLIBC_2.34");
  find(f.rwlock_unlock, where, "pthread_rwlock_unlock", "GLIBC_2.34");
  find(f.spin_init, where, "pthread_spin_init", "GLIBC_2.34");
  find(f.spin_destroy, where, "pthread_spin_destroy", "GLIBC_2.34");
  find(f.spin_lock, where, "pthread_spin_lock", "GLIBC_2.34");
  find(f.spin_trylock, where, "pthread_spin_trylock", "GLIBC_2.34");
  find(f.spin_unlock, where, "pthread_spin_unlock", "GLIBC_2.34");
  find(f.dlopen, where, "dlopen", "GLIBC_2.34");
  find(f.register_atfork, where, "__register_atfork", COND_VERSION);
  real = f;  // threads that race here store the same values
}

namespace {

/// The stub of one member: looks everything up, then makes the call.
template <auto Member>
struct stub;

template <class Result, class... Arguments, Result (*real_functions::*Member)(Arguments...)>
struct stub<Member> {
  static Result call(Arguments... arguments) {
    find_real_functions(RTLD_NEXT);  // what comes after this library
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

}  // namespace lockwright::interpose
