/* A lock call for programs that know better than to sleep: lockwright_mutex_busylock().
 * For C and C++; nothing has to be linked. The program runs with and without
 * Lockwright: what is preloaded is found while it is loaded. */
#ifndef LOCKWRIGHT_PTHREAD_H
#define LOCKWRIGHT_PTHREAD_H

#include <errno.h>
#include <pthread.h>

#if defined(__cplusplus)
extern "C" {
#define LOCKWRIGHT_INLINE inline
#else
#define LOCKWRIGHT_INLINE static inline
#endif

/* What a preloaded library exports as lockwright_mutex_busylock; null without one.
 * By way of the table of addresses, because some linkers settle a weak name for
 * ever when they see it in code that is not position-independent. */
typedef int lockwright_mutex_function(pthread_mutex_t*);

#if defined(__x86_64__) && defined(__LP64__)
LOCKWRIGHT_INLINE lockwright_mutex_function* lockwright_preloaded_busylock(void) {
  lockwright_mutex_function* found;
  __asm__(
      ".weak lockwright_mutex_busylock\n\t"
      "movq lockwright_mutex_busylock@GOTPCREL(%%rip), %0"
      : "=r"(found));
  return found;
}
#elif defined(__aarch64__) && defined(__LP64__)
LOCKWRIGHT_INLINE lockwright_mutex_function* lockwright_preloaded_busylock(void) {
  lockwright_mutex_function* found;
  __asm__(
      ".weak lockwright_mutex_busylock\n\t"
      "adrp %0, :got:lockwright_mutex_busylock\n\t"
      "ldr %0, [%0, :got_lo12:lockwright_mutex_busylock]"
      : "=r"(found));
  return found;
}
#else
LOCKWRIGHT_INLINE lockwright_mutex_function* lockwright_preloaded_busylock(void) {
  return (lockwright_mutex_function*)0;
}
#endif

/* One polite step of a polling loop. */
LOCKWRIGHT_INLINE void lockwright_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

#if defined(__GLIBC__)
/* gettid(), which the C library declares only for programs that ask for more
 * than the standard. */
extern int lockwright_gettid(void) __asm__("gettid");
#endif

/* Whether an error-checking mutex of the C library is the caller's: trylock says
 * no more than that it is held. */
LOCKWRIGHT_INLINE int lockwright_would_deadlock(const pthread_mutex_t* mutex) {
#if defined(__GLIBC__)
  /* Bits 1-0 of the kind are the type; 2 is error-checking. */
  return (mutex->__data.__kind & 3) == 2 &&
         __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == lockwright_gettid();
#else
  (void)mutex;
  return 0;
#endif
}

LOCKWRIGHT_INLINE int lockwright_poll_mutex(pthread_mutex_t* mutex) {
  int result = pthread_mutex_trylock(mutex);
  if (result == EBUSY && lockwright_would_deadlock(mutex)) {
    return EDEADLK;
  }
  while (result == EBUSY) {
    lockwright_relax();
    result = pthread_mutex_trylock(mutex);
  }
  return result;
}

/* As pthread_mutex_lock(), with the same results, but the caller never sleeps and
 * never gives its processor up: it waits by polling.
 * In the program's own code it has another name than in the library, so that the
 * name above is looked for in libraries. */
LOCKWRIGHT_INLINE int lockwright_mutex_busylock(pthread_mutex_t* mutex) __asm__(
    "lockwright_mutex_busylock_here");

LOCKWRIGHT_INLINE int lockwright_mutex_busylock(pthread_mutex_t* mutex) {
  lockwright_mutex_function* preloaded = lockwright_preloaded_busylock();
  return preloaded ? preloaded(mutex) : lockwright_poll_mutex(mutex);
}

#undef LOCKWRIGHT_INLINE
#if defined(__cplusplus)
}
#endif

#endif
