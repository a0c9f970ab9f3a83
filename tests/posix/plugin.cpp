// A library that is loaded and unloaded while the program runs, and locks in its constructors and
// destructors, and in those of the threads that have called it.
#include "plugin.hpp"

#include <condition_variable>
#include <mutex>

#include "../support/check.hpp"

namespace {

pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
std::recursive_mutex recursive;
std::condition_variable standard;
std::mutex of_standard;
int count = 0;
int turn = 0;
int turn_of_standard = 0;

void use(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const std::lock_guard outer{recursive};
    const std::lock_guard inner{recursive};
    OK(pthread_mutex_lock(&own));
    ++count;
    OK(pthread_mutex_unlock(&own));
  }
}

int uses() {
  OK(pthread_mutex_lock(&own));
  const int result = count;
  OK(pthread_mutex_unlock(&own));
  return result;
}

// The condition variables in turn: one of POSIX, one of C++, whose functions are partly inlined
// here and partly in another library.
void take_turns(int which, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    OK(pthread_mutex_lock(&own));
    while (turn % 2 != which) OK(pthread_cond_wait(&turned, &own));
    ++turn;
    OK(pthread_cond_signal(&turned));
    OK(pthread_mutex_unlock(&own));
  }
  for (int i = 0; i < rounds; ++i) {
    std::unique_lock held{of_standard};
    standard.wait(held, [which] { return turn_of_standard % 2 == which; });
    ++turn_of_standard;
    standard.notify_one();
  }
}

void lock(pthread_mutex_t* mutex) { OK(pthread_mutex_lock(mutex)); }
void unlock(pthread_mutex_t* mutex) { OK(pthread_mutex_unlock(mutex)); }

struct Alive {
  Alive() { use(3); }
  ~Alive() { use(3); }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
} alive;

}  // namespace

extern "C" {
extern const Plugin the_plugin;
const Plugin the_plugin{uses, use, take_turns, &own, lock, unlock};
}
