// 10,000 threads, each alive for a few acquisitions: a lock's memory for a thread must be freed
// when the thread ends, also for threads that lock in destructors.
#include "../support/check.hpp"

namespace {

constexpr std::size_t mutexes = 8;
pthread_mutex_t shared[mutexes] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
volatile long counter = 0;

void increment() { counter = counter + 1; }

// An object that locks when the thread's variables are destroyed.
struct LocksAtEnd {
  bool armed = false;
  ~LocksAtEnd() {
    if (!armed) return;
    OK(pthread_mutex_lock(&shared[0]));
    increment();
    OK(pthread_mutex_unlock(&shared[0]));
  }
};
thread_local LocksAtEnd at_end;

void nest(std::size_t depth) {
  for (std::size_t m = 0; m < depth; ++m) OK(pthread_mutex_lock(&shared[m]));
  increment();
  for (std::size_t m = 0; m < depth; ++m) OK(pthread_mutex_unlock(&shared[m]));
}

// Two threads at a time, so that they also contend.
void run_pairs(int pairs, int depth_seed) {
  for (int i = 0; i < pairs; ++i) {
    const auto depth = 1 + static_cast<std::size_t>(i + depth_seed) % mutexes;
    auto body = [depth](check::Worker&) {
      at_end.armed = true;
      nest(depth);
      nest(mutexes + 1 - depth);
    };
    check::Worker first{body};
    check::Worker second{body};
  }
}

CASE("ten thousand threads") {
  run_pairs(500, 0);  // stacks, arenas and pools reach their size
  const long before = check::anonymous_bytes();
  run_pairs(4'500, 3);
  const long growth = check::anonymous_bytes() - before;
  // 9,000 threads with only one 64-byte node lost each would be 560 KiB.
  CHECK(growth < 256 * 1'024);
  CHECK_EQ(10'000 * 3, counter);  // two nests and one destructor each
  return "grew by " + std::to_string(growth / 1'024) + " KiB";
};

// A key's destructor may lock too, again and again, after the thread's clean-up has begun.
CASE("in key destructors") {
  static pthread_key_t key;
  static std::atomic<int> calls{0};
  OK(pthread_key_create(&key, [](void* value) {
    nest(mutexes);
    if (calls.fetch_add(1) % 3 != 2) OK(pthread_setspecific(key, value));
  }));
  for (int i = 0; i < 50; ++i)
    check::Worker([&](check::Worker&) {
      nest(2);
      OK(pthread_setspecific(key, &key));
    }).join();
  CHECK_EQ(150, calls.load());
  OK(pthread_key_delete(key));
};

}  // namespace
