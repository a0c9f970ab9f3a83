// A library that is loaded and unloaded while the program runs, and locks in its constructors and
// destructors, and in those of the threads that have called it.
#include "plugin.hpp"

#include <condition_variable>
#include <mutex>

#include "../support/check.hpp"

// As in some libraries that were built for old systems: names of which no default version exists.
#if defined(PLUGIN_WITH_OLD_NAMES)
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif
asm(".symver pthread_mutex_lock, __pthread_mutex_lock@" FIRST_VERSION);
asm(".symver pthread_mutex_unlock, __pthread_mutex_unlock@" FIRST_VERSION);
#endif

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
std::recursive_mutex recursive;
std::condition_variable std_cond;
std::mutex std_mutex;
int count = 0;
int turn = 0;
int std_turn = 0;

void use(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::lock_guard outer{recursive};
    const std::lock_guard inner{recursive};
    OK(pthread_mutex_lock(&mutex));
    ++count;
    OK(pthread_mutex_unlock(&mutex));
  }
}

int uses() {
  OK(pthread_mutex_lock(&mutex));
  const int result = count;
  OK(pthread_mutex_unlock(&mutex));
  return result;
}

// Uses a condition variable of POSIX, then one of C++, whose functions are partly inlined here and
// partly in another library.
void alternate(int which, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    OK(pthread_mutex_lock(&mutex));
    while (turn % 2 != which) OK(pthread_cond_wait(&turn_changed, &mutex));
    ++turn;
    OK(pthread_cond_signal(&turn_changed));
    OK(pthread_mutex_unlock(&mutex));
  }
  for (int i = 0; i < rounds; ++i) {
    std::unique_lock held{std_mutex};
    std_cond.wait(held, [which] { return std_turn % 2 == which; });
    ++std_turn;
    std_cond.notify_one();
  }
}

void lock(pthread_mutex_t* other) { OK(pthread_mutex_lock(other)); }
void unlock(pthread_mutex_t* other) { OK(pthread_mutex_unlock(other)); }

struct Global {
  Global() { use(3); }
  ~Global() { use(3); }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;
} global;

}  // namespace

extern "C" {
extern const Plugin the_plugin;
const Plugin the_plugin{uses, use, alternate, &mutex, lock, unlock};
}
