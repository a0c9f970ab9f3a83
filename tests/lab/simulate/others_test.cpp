// The reader-writer lock and the semaphore on the simulated machine, with checks of their guarantees.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "lock_call.hpp"
#include "lockwright/env/simulated.hpp"
#include "lockwright/rwlock/phase_fair.hpp"
#include "preload/basic_semaphore.hpp"
#include "worked_examples.hpp"

namespace worked_examples {
namespace {

using lockwright::simulated;

struct preload_environment : simulated {
  static std::uint32_t stamp() { return 0; }
  static bool is_watched() { return false; }
};

figures crowded() {
  figures f = round_figures();
  f.store_buffer = 16;
  f.jitter = 100;
  f.slice = 20'000 * ns;
  f.skip_polls = 1;
  return f;
}

TEST(Others, ACallTakesItsLeastTime) {
  figures f = round_figures();
  f.call = 30 * ns;
  scenario s(f);
  s.on(0, [&] {
    {
      const lock_call call{*s.sim};
      s.load();
    }
    s.note("a miss of 100 ns");
    {
      const lock_call call{*s.sim};
      s.load();
    }
    s.note("a hit of 1 ns");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"a miss of 100 ns", 100}, {"a hit of 1 ns", 130}}));
}

TEST(Others, PhaseFairWritersExcludeOthers) {
  for (const std::uint32_t threads : {1u, 2u, 8u, 24u}) {
    scenario s(crowded());
    using lock_type = lockwright::phase_fair<simulated>;
    auto& lock = *::new (s.sim->memory.cut(256, 128)) lock_type;
    std::uint32_t readers = 0;
    std::uint32_t writers = 0;
    std::uint32_t most_readers = 0;
    std::uint64_t done = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      s.on(i % 8, [&, i] {
        for (int round = 0; round < 50; ++round) {
          if ((i + static_cast<std::uint32_t>(round)) % 4 == 0) {
            lock.lock_write();
            EXPECT_EQ(readers + writers++, 0u);
            s.sim->spend(s.sim->caller()->random.below(500) * ns);
            --writers;
            lock.unlock_write();
          } else {
            lock.lock_read(false);
            EXPECT_EQ(writers, 0u);
            most_readers = std::max(most_readers, ++readers);
            s.sim->spend(s.sim->caller()->random.below(500) * ns);
            --readers;
            lock.unlock_read();
          }
          ++done;
        }
      });
    }
    s.run();
    EXPECT_EQ(done, 50u * threads);
    EXPECT_EQ(most_readers > 1, threads > 1);
  }
}

struct unused {};

TEST(Others, ASemaphoreAdmitsOneThreadPerUnit) {
  for (const std::uint32_t threads : {1u, 2u, 8u, 24u}) {
    scenario s(crowded());
    using semaphore = lockwright::preload::basic_semaphore<preload_environment, unused, unused>;
    auto& sem = *::new (s.sim->memory.cut(256, 128)) semaphore(3);
    std::uint32_t inside = 0;
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      s.on(i % 8, [&] {
        for (int round = 0; round < 50; ++round) {
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
          s.sim->spend(50'000 * ns);
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
}  // namespace worked_examples
