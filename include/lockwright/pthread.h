/* A lock call that polls and never sleeps: lockwright_mutex_busylock().
 * For C and C++; nothing has to be linked. The program runs with and without
 * Lockwright: the dynamic linker resolves the preloaded function, if there is one. */
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

/* The function lockwright_mutex_busylock of a preloaded library; null without one.
 * Read from the global offset table, because some linkers resolve a weak name at link
 * time when they find it in code that is not position-independent. */
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

/* The processor's pause instruction, for a polling loop. */
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
/* gettid(), which the C library declares only with _GNU_SOURCE. */
extern int lockwright_gettid(void) __asm__("gettid");
#endif

/* True if the caller holds an error-checking mutex of the C library: trylock returns
 * EBUSY whichever thread holds it. */
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

/* As pthread_mutex_lock(), with the same results, but the caller waits by polling: it
 * neither sleeps nor yields. The symbol in the program differs from the library's, so
 * that the name above is resolved in libraries. */
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
