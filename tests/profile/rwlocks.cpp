// A program that measures and prints the times of the sections and waits of readers and writers: its
// profile has to agree with them. Each part has a lock of its own.
#include "../support/check.hpp"

namespace {

using counter = std::uint64_t;

counter now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<counter>(now.tv_sec) * 1000000000 + static_cast<counter>(now.tv_nsec);
}

void busy_for(counter ns) {
  const counter begin = now_ns();
  while (now_ns() - begin < ns) {
  }
}

constexpr unsigned rounds = 40;

pthread_rwlock_t held_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t reader_waits = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t writer_waits = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t counted_lock = PTHREAD_RWLOCK_INITIALIZER;

counter hold_for_reading() {
  counter held = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    pthread_rwlock_rdlock(&held_lock);
    const counter begin = now_ns();
    busy_for(100000);
    held += now_ns() - begin;
    pthread_rwlock_unlock(&held_lock);
  }
  return held;
}

counter hold_for_writing() {
  counter held = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    pthread_rwlock_wrlock(&held_lock);
    const counter begin = now_ns();
    busy_for(200000);
    held += now_ns() - begin;
    pthread_rwlock_unlock(&held_lock);
  }
  return held;
}

using lock_function = int(pthread_rwlock_t*);

// Waits by `second` while another thread holds the lock by `first`; returns the sum of the waits.
counter wait_for(pthread_rwlock_t* lock, lock_function* first, lock_function* second) {
  std::atomic<counter> taken{0};
  std::atomic<counter> asked{0};
  std::atomic<counter> done{0};
  std::thread holder([&, waiter = gettid()] {
    for (unsigned i = 0; i < rounds; ++i) {
      first(lock);
      taken.store(i + 1);
      while (asked.load() != i + 1 || !check::sleeps(waiter)) {
      }
      busy_for(500000);
      pthread_rwlock_unlock(lock);
      while (done.load() != i + 1) {
        sched_yield();
      }
    }
  });
  counter waited = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    while (taken.load() != i + 1) {
    }
    asked.store(i + 1);
    const counter begin = now_ns();
    second(lock);
    waited += now_ns() - begin;
    pthread_rwlock_unlock(lock);
    done.store(i + 1);
  }
  holder.join();
  return waited;
}

// Each thread reads nine times and writes once in ten; returns the number of all acquisitions.
counter count(counter threads, counter times) {
  std::vector<std::thread> counters;
  for (counter i = 0; i < threads; ++i) {
    counters.emplace_back([times] {
      for (counter n = 0; n < times; ++n) {
        if (n % 10 == 9) {
          pthread_rwlock_wrlock(&counted_lock);
        } else {
          pthread_rwlock_rdlock(&counted_lock);
        }
        pthread_rwlock_unlock(&counted_lock);
      }
    });
  }
  for (std::thread& each : counters) {
    each.join();
  }
  return threads * times;
}

// Not inlined, so that it is a frame of the stack without debug information too.
[[gnu::noinline]] void create_and_try() {
  const auto created = std::make_unique<pthread_rwlock_t>();
  pthread_rwlock_t* lock = created.get();
  pthread_rwlock_init(lock, nullptr);
  for (unsigned i = 0; i < rounds; ++i) {
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_tryrdlock(lock);
    if (pthread_rwlock_trywrlock(lock) == 0) {
      _exit(1);
    }
    pthread_rwlock_unlock(lock);
    pthread_rwlock_unlock(lock);
  }
  pthread_rwlock_destroy(lock);
}

}  // namespace

int main() {
  const counter read = hold_for_reading();
  const counter written = hold_for_writing();
  const counter reader = wait_for(&reader_waits, pthread_rwlock_wrlock, pthread_rwlock_rdlock);
  const counter writer = wait_for(&writer_waits, pthread_rwlock_rdlock, pthread_rwlock_wrlock);
  const counter counted = count(2, 200000);
  create_and_try();
  std::printf(
      "{\"rounds\": %u, \"read\": %llu, \"written\": %llu, \"reader waited\": %llu, "
      "\"writer waited\": %llu, \"counted\": %llu}\n",
      rounds, static_cast<unsigned long long>(read), static_cast<unsigned long long>(written),
      static_cast<unsigned long long>(reader), static_cast<unsigned long long>(writer),
      static_cast<unsigned long long>(counted));
  return 0;
}
