// One thread locks, another unlocks, repeatedly: a lock's queue nodes move from thread to thread
// and must not accumulate.
#include "../support/check.hpp"

namespace {

struct Slot {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> full{false};
};

// A mutex's memory outside itself may come into use gradually: alock-ls has 512 lines and
// uses the next one each time. Once all of it is in use, any growth is a leak.
void use_all_of(pthread_mutex_t& mutex) {
  for (int i = 0; i < 600; ++i) {
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
}

// One thread locks, the other unlocks. An atomic passes a slot on. A waiting thread sleeps: on a
// busy machine each yield would cost time slices.
void pass(std::vector<Slot>& slots, long rounds) {
  check::Worker locker{[&](check::Worker&) {
    for (long i = 0; i < rounds; ++i) {
      Slot& slot = slots[static_cast<std::size_t>(i) % slots.size()];
      while (slot.full.load(std::memory_order_acquire)) check::sleep_us(20);
      OK(pthread_mutex_lock(&slot.mutex));
      slot.full.store(true, std::memory_order_release);
    }
  }};
  check::Worker unlocker{[&](check::Worker&) {
    for (long i = 0; i < rounds; ++i) {
      Slot& slot = slots[static_cast<std::size_t>(i) % slots.size()];
      while (!slot.full.load(std::memory_order_acquire)) check::sleep_us(20);
      OK(pthread_mutex_unlock(&slot.mutex));
      slot.full.store(false, std::memory_order_release);
    }
  }};
}

CASE("memory is bounded") {
  std::vector<Slot> slots(100);
  for (auto& slot : slots) use_all_of(slot.mutex);
  pass(slots, 20'000);
  const long before = check::anonymous_bytes();
  pass(slots, 300'000);
  const long growth = check::anonymous_bytes() - before;
  // One 64-byte node lost in 100 acquisitions would be 190 KiB.
  CHECK(growth < 128 * 1'024);
  for (auto& slot : slots) CHECK(check::is_free(&slot.mutex));
  return "grew by " + std::to_string(growth / 1'024) + " KiB";
};

// Many threads lock and unlock for each other in random pairs.
CASE("many to many") {
  constexpr int threads = 4;
  std::vector<Slot> slots(64);
  for (auto& slot : slots) use_all_of(slot.mutex);
  auto run = [&](int budget_ms) {
    const check::Budget budget{budget_ms};
    check::in_parallel(threads, [&](int i) {
      check::Random random{static_cast<std::uint64_t>(i) + 41};
      while (!budget.spent()) {
        for (int n = 0; n < 100; ++n) {
          Slot& slot = slots[random.below(64)];
          // Only the thread that toggles `full` may touch the mutex.
          bool full = true;
          if (slot.full.compare_exchange_strong(full, false)) {
            OK(pthread_mutex_unlock(&slot.mutex));
          } else if (pthread_mutex_trylock(&slot.mutex) == 0) {
            slot.full = true;
          }
        }
      }
    });
  };
  run(100);
  const long before = check::anonymous_bytes();
  run(250);
  const long growth = check::anonymous_bytes() - before;
  CHECK(growth < 128 * 1'024);
  return "grew by " + std::to_string(growth / 1'024) + " KiB";
};

// A thread ends while it holds mutexes; others release and reuse them.
CASE("released after the holder ended") {
  constexpr std::size_t count = 40;  // more than a thread caches nodes for
  std::vector<pthread_mutex_t> mutexes(count, PTHREAD_MUTEX_INITIALIZER);
  for (auto& mutex : mutexes) use_all_of(mutex);
  long before = 0;
  for (int round = 0; round < 400; ++round) {
    if (round == 100) before = check::anonymous_bytes();
    check::Worker([&](check::Worker&) {
      for (auto& mutex : mutexes) OK(pthread_mutex_lock(&mutex));
    }).join();
    for (auto& mutex : mutexes) {
      CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
      OK(pthread_mutex_unlock(&mutex));
    }
  }
  const long growth = check::anonymous_bytes() - before;
  CHECK(growth < 128 * 1'024);
  return "grew by " + std::to_string(growth / 1'024) + " KiB";
};

}  // namespace
