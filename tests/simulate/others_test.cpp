// The reader-writer lock and the semaphore on the simulated machine: what they promise is looked at
// in every step.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "by_hand.hpp"
#include "lockwright/env/simulated.hpp"
#include "lockwright/rwlock/phase_fair.hpp"
#include "preload/units.hpp"

namespace by_hand {
namespace {

using lockwright::simulated;

struct shipped : simulated {
  static std::uint32_t stamp() { return 0; }
  static bool is_watched() { return false; }
};

figures crowded() {
  figures f = round();
  f.store_buffer = 16;
  f.jitter = 100;
  f.slice = 20'000 * ns;
  f.skip_polls = 1;
  return f;
}

TEST(Others, WritersOfPhaseFairAreAlone) {
  for (const std::uint32_t threads : {1u, 2u, 8u, 24u}) {
    story s(crowded());
    using lock_type = lockwright::phase_fair<simulated>;
    auto& lock = *::new (s.in->memory.cut(256, 128)) lock_type;
    std::uint32_t readers = 0;
    std::uint32_t writers = 0;
    std::uint32_t together = 0;
    std::uint64_t done = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      s.on(i % 8, [&, i] {
        for (int turn = 0; turn < 50; ++turn) {
          if ((i + static_cast<std::uint32_t>(turn)) % 4 == 0) {
            lock.lock_write();
            EXPECT_EQ(readers + writers++, 0u);
            s.in->spend(s.in->caller()->random.below(500) * ns);
            --writers;
            lock.unlock_write();
          } else {
            lock.lock_read(false);
            EXPECT_EQ(writers, 0u);
            together = std::max(together, ++readers);
            s.in->spend(s.in->caller()->random.below(500) * ns);
            --readers;
            lock.unlock_read();
          }
          ++done;
        }
      });
    }
    s.run();
    EXPECT_EQ(done, 50u * threads);
    EXPECT_EQ(together > 1, threads > 1);
  }
}

struct nothing {};

TEST(Others, ASemaphoreAdmitsAsManyAsItHasUnits) {
  for (const std::uint32_t threads : {1u, 2u, 8u, 24u}) {
    story s(crowded());
    using semaphore = lockwright::preload::units<shipped, nothing, nothing>;
    auto& sem = *::new (s.in->memory.cut(256, 128)) semaphore(3);
    std::uint32_t inside = 0;
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      s.on(i % 8, [&] {
        for (int turn = 0; turn < 50; ++turn) {
          if (!sem.try_take()) {
            lockwright::preload::wait_for_unit<semaphore> wait{sem};
            if (!sem.take_or_enqueue(wait.self, true)) {
              wait.sleep_until_granted(true, [&] {
                simulated::wait(wait.self.state, semaphore::waiter::waiting);
                return true;
              });
            }
          }
          most = std::max(most, ++inside);
          s.in->spend(50'000 * ns);
          --inside;
          sem.post();
        }
      });
    }
    s.run();
    EXPECT_EQ(most, std::min(threads, 3u));
    EXPECT_EQ(sem.count(), 3u);
  }
}

}  // namespace
}  // namespace by_hand
