// Readers and writers of one reader-writer lock: rwlock.
#pragma once

#include <cmath>
#include <string>

#include "description.hpp"

namespace lockwright::workloads {

template <class Env>
struct readers_and_writers {
  explicit readers_and_writers(const typename Env::settings& given) : lock{given} {
    const double reads = given.real("read-percent");
    if (reads > 100) {
      programs::refuse("'--read-percent' is above 100; give a share from 0 to 100");
    }
    // A burst counts as one draw, so that the share of reads is that of the acquisitions.
    const double writes = 100 - reads;
    const auto burst = static_cast<double>(given.count("burst", 1));
    bursts = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(draws) * writes / (writes + reads * burst)));
  }

  // `user` is how a thread uses the lock and sees whether the data are whole.
  struct alignas(cache_line_pair) thread_state {
    thread_state(readers_and_writers& w, const typename Env::settings& given, std::size_t index)
        : section{given.length("section")},
          gap{given.length("gap")},
          burst{given.count("burst", 1)},
          random{given.random(index)},
          user{w.lock, index} {}
    std::uint64_t section;
    std::uint64_t gap;
    std::uint64_t burst;
    typename Env::random random;
    typename Env::rwlock::user user;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    const bool writes = me.random.below(draws) < bursts;
    for (std::uint64_t left = writes ? me.burst : 1; left != 0; --left) {
      if (writes) {
        me.user.lock_write();
        me.user.begin_change();
        meter.work(me.section);
        me.user.end_change();
        me.user.unlock_write();
      } else {
        me.user.lock_read();
        me.user.begin_look();
        meter.work(me.section);
        me.user.end_look();
        me.user.unlock_read();
      }
    }
    meter.work(me.gap);
    return writes ? me.burst : 1;
  }

  void prepare() { lock.prepare(); }
  template <class Line, class Record>
  void report(Line& line, const Record& done) {
    lock.report(line, done);
  }
  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const {
    return lock.find_fault();
  }
  static std::uint64_t taken() { return 0; }

  static constexpr std::uint64_t draws = 1'000'000;
  typename Env::rwlock lock;
  std::uint64_t bursts = 0;  // among so many draws
};

inline const description rwlock{
    .name = "rwlock",
    .measures = "readers and writers of one reader-writer lock",
    .operation = "acquisitions",
    .parameters = {{"read-percent", 90, "%", "share of the acquisitions that are reads"},
                   {"burst", 1, "", "writes that a thread makes one after the other", 1},
                   {"section-cycles", 200, "cycles", "work while the lock is held"},
                   {"gap-cycles", 400, "cycles", "work between two sections of a thread"}},
    .in_native_runs = {{"seconds", 0.3, "s", "", 1e-3}, {"warm-up", 0, "s"}},
    .of_rwlocks = true,
    .is_listed = false,
};

}  // namespace lockwright::workloads
