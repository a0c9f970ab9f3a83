// The common parts of the program. LOCKWRIGHT_TEST_QUEUES is set if threads with a deadline queue like
// the others.
#pragma once

#include "../../support/check.hpp"

namespace rwlocks {

/// What is promised beyond POSIX: `none` by the C library, that readers exclude each other, or the
/// preference of a reader-writer lock.
enum class Guarantee : std::uint8_t {
  none,
  exclusive,
  readers,
  writers,
  fifo,
  alternating,
  unordered
};

inline Guarantee guarantee() {
  const char* text = std::getenv("LOCKWRIGHT_TEST_RWLOCK");
  if (text == nullptr) return Guarantee::none;
  const std::string word = text;
  if (word == "exclusive") return Guarantee::exclusive;
  if (word == "readers") return Guarantee::readers;
  if (word == "writers") return Guarantee::writers;
  if (word == "FIFO") return Guarantee::fifo;
  if (word == "alternating") return Guarantee::alternating;
  CHECK(word == "none");
  return Guarantee::unordered;
}

/// True if no reader that comes later passes a waiting writer.
inline bool writers_hold_readers_back() {
  return guarantee() == Guarantee::writers || guarantee() == Guarantee::fifo ||
         guarantee() == Guarantee::alternating;
}

inline constexpr int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

inline void init(pthread_rwlock_t* lock, int kind, int shared = PTHREAD_PROCESS_PRIVATE) {
  pthread_rwlockattr_t attributes;
  OK(pthread_rwlockattr_init(&attributes));
  OK(pthread_rwlockattr_setkind_np(&attributes, kind));
  OK(pthread_rwlockattr_setpshared(&attributes, shared));
  OK(pthread_rwlock_init(lock, &attributes));
  OK(pthread_rwlockattr_destroy(&attributes));
}

using check::in_thread;

inline int try_read_in_thread(pthread_rwlock_t* lock) {
  return in_thread([lock] {
    const int result = pthread_rwlock_tryrdlock(lock);
    if (result == 0) OK(pthread_rwlock_unlock(lock));
    return result;
  });
}

inline int try_write_in_thread(pthread_rwlock_t* lock) {
  return in_thread([lock] {
    const int result = pthread_rwlock_trywrlock(lock);
    if (result == 0) OK(pthread_rwlock_unlock(lock));
    return result;
  });
}

inline void check_free(pthread_rwlock_t* lock) { CHECK_RC(0, try_write_in_thread(lock)); }

/// A thread that takes the lock, reports it, and releases it on request.
class Holder {
 public:
  enum Mode : std::uint8_t { reads, writes, reads_in_time, writes_in_time };
  Holder(pthread_rwlock_t* lock, Mode mode)
      : worker_([this, lock, mode](check::Worker& self) {
          const timespec late = check::after_ms(CLOCK_MONOTONIC, 600'000);
          self.about_to_block();
          OK(mode == reads           ? pthread_rwlock_rdlock(lock)
             : mode == writes        ? pthread_rwlock_wrlock(lock)
             : mode == reads_in_time ? pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &late)
                                     : pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &late));
          inside_.store(true);
          check::wait_until([this] { return may_leave_.load(); });
          OK(pthread_rwlock_unlock(lock));
        }) {}
  [[nodiscard]] bool inside() const { return inside_.load(); }
  void wait_until_inside() {
    check::wait_until([this] { return inside(); });
  }
  void wait_until_blocked() {
    worker_.wait_until_blocked();
    CHECK(!inside());
  }
  void let_leave() { may_leave_.store(true); }
  void leave() {
    let_leave();
    worker_.join();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> may_leave_{false};
  check::Worker worker_;
};

/// Acquires the lock by a random function; returns false if that failed.
inline bool acquire(pthread_rwlock_t* lock, bool to_write, check::Random& random) {
  const timespec soon = check::after_ms(CLOCK_REALTIME, random.below(2));
  const timespec late = check::after_ms(CLOCK_MONOTONIC, 600'000);
  int result = 0;
  switch (random.below(5)) {
    case 0:
      result = to_write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
      CHECK(result == 0 || result == EBUSY);
      break;
    case 1:
      result = to_write ? pthread_rwlock_timedwrlock(lock, &soon)
                        : pthread_rwlock_timedrdlock(lock, &soon);
      CHECK(result == 0 || result == ETIMEDOUT);
      break;
    case 2:
      OK(to_write ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &late)
                  : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &late));
      break;
    default:
      OK(to_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
  }
  return result == 0;
}

inline std::string exclusion_with(pthread_rwlock_t* lock, int threads) {
  volatile long first = 0;
  volatile long second = 0;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::atomic<long> writes{0};
  std::atomic<long> reads{0};
  const check::Budget budget{150};
  const auto both_entered = [&] { return writes.load() != 0 && reads.load() != 0; };
  check::in_parallel(threads, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 17};
    do {
      const bool to_write = random.below(3) == 0;
      if (!acquire(lock, to_write, random)) continue;
      if (to_write) {
        CHECK_EQ(0, writers.fetch_add(1));
        CHECK_EQ(0, readers.load());
        const long value = first;
        CHECK_EQ(value, second);
        first = value + 1;
        if (random.below(8) == 0) sched_yield();
        second = value + 1;
        ++writes;
        writers.fetch_sub(1);
      } else {
        const int others = readers.fetch_add(1);
        if (guarantee() == Guarantee::exclusive) CHECK_EQ(0, others);
        CHECK_EQ(0, writers.load());
        const long value = first;
        if (random.below(8) == 0) sched_yield();
        CHECK_EQ(value, second);
        ++reads;
        readers.fetch_sub(1);
      }
      OK(pthread_rwlock_unlock(lock));
    } while (!budget.spent() || !both_entered());
  });
  CHECK_EQ(writes.load(), first);
  check_free(lock);
  return "writes=" + std::to_string(writes.load()) + " reads=" + std::to_string(reads.load());
}

/// Acquires for reading by every function; the caller already holds the lock for reading.
inline void read_again(pthread_rwlock_t* lock) {
  const timespec late = check::after_ms(CLOCK_MONOTONIC, 600'000);
  OK(pthread_rwlock_rdlock(lock));
  OK(pthread_rwlock_tryrdlock(lock));
  OK(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &late));
  for (int i = 0; i < 3; ++i) OK(pthread_rwlock_unlock(lock));
}

}  // namespace rwlocks
