// The C library's aliases of the same functions, which programs linked long ago are bound to.
#include "common.hpp"

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif
#define SECOND(name, ...)                    \
  extern "C" int second_##name(__VA_ARGS__); \
  asm(".symver second_" #name ",__pthread_rwlock_" #name "@" OLDEST)

SECOND(init, pthread_rwlock_t*, const pthread_rwlockattr_t*);
SECOND(destroy, pthread_rwlock_t*);
SECOND(rdlock, pthread_rwlock_t*);
SECOND(tryrdlock, pthread_rwlock_t*);
SECOND(wrlock, pthread_rwlock_t*);
SECOND(trywrlock, pthread_rwlock_t*);
SECOND(unlock, pthread_rwlock_t*);

namespace rwlocks {

CASE("aliases") {
  pthread_rwlock_t lock;
  OK(second_init(&lock, nullptr));
  OK(second_rdlock(&lock));
  CHECK_RC(EBUSY, try_write_in_thread(&lock));
  OK(pthread_rwlock_unlock(&lock));
  OK(second_tryrdlock(&lock));
  CHECK_RC(EBUSY, try_write_in_thread(&lock));
  OK(pthread_rwlock_unlock(&lock));
  OK(second_wrlock(&lock));
  CHECK_RC(EBUSY, try_read_in_thread(&lock));
  OK(pthread_rwlock_unlock(&lock));
  OK(second_trywrlock(&lock));
  CHECK_RC(EBUSY, try_read_in_thread(&lock));
  OK(second_unlock(&lock));
  OK(pthread_rwlock_wrlock(&lock));
  CHECK_RC(EBUSY, in_thread([&] { return second_tryrdlock(&lock); }));
  CHECK_RC(EBUSY, in_thread([&] { return second_trywrlock(&lock); }));
  OK(second_unlock(&lock));
  check_free(&lock);
  OK(second_destroy(&lock));
};

}  // namespace rwlocks
