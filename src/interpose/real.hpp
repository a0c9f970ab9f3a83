// The C library's own versions of the functions that we replace.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

namespace lockwright::interpose {

/// Pointers to the C library's functions. Each starts as a stub that looks all
/// of them up and calls the right one, because library constructors lock before
/// ours has run; after that a call costs one indirect jump.
struct real_functions {
  int (*mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
  int (*mutex_destroy)(pthread_mutex_t*);
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_unlock)(pthread_mutex_t*);
  int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
  int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*cond_init)(pthread_cond_t*, const pthread_condattr_t*);
  int (*cond_destroy)(pthread_cond_t*);
  int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
  int (*cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  int (*cond_signal)(pthread_cond_t*);
  int (*cond_broadcast)(pthread_cond_t*);
  int (*sem_init)(sem_t*, int, unsigned);
  int (*sem_destroy)(sem_t*);
  int (*sem_wait)(sem_t*);
  int (*sem_trywait)(sem_t*);
  int (*sem_timedwait)(sem_t*, const timespec*);
  int (*sem_clockwait)(sem_t*, clockid_t, const timespec*);
  int (*sem_post)(sem_t*);
  int (*sem_getvalue)(sem_t*, int*);
  int (*rwlock_init)(pthread_rwlock_t*, const pthread_rwlockattr_t*);
  int (*rwlock_destroy)(pthread_rwlock_t*);
  int (*rwlock_rdlock)(pthread_rwlock_t*);
  int (*rwlock_tryrdlock)(pthread_rwlock_t*);
  int (*rwlock_timedrdlock)(pthread_rwlock_t*, const timespec*);
  int (*rwlock_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*rwlock_wrlock)(pthread_rwlock_t*);
  int (*rwlock_trywrlock)(pthread_rwlock_t*);
  int (*rwlock_timedwrlock)(pthread_rwlock_t*, const timespec*);
  int (*rwlock_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
  int (*rwlock_unlock)(pthread_rwlock_t*);
  int (*spin_init)(pthread_spinlock_t*, int);
  int (*spin_destroy)(pthread_spinlock_t*);
  int (*spin_lock)(pthread_spinlock_t*);
  int (*spin_trylock)(pthread_spinlock_t*);
  int (*spin_unlock)(pthread_spinlock_t*);
  void* (*dlopen)(const char*, int);
  int (*register_atfork)(void (*)(), void (*)(), void (*)(), void*);
};

extern real_functions real;

/// Looks all of them up in `where`, a handle of the dynamic linker.
void find_real_functions(void* where);

}  // namespace lockwright::interpose
