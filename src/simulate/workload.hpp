// The workloads that simulated threads run: those of lockwright-bench with the same names,
// parameters and defaults, on a simulated lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lock_entry.hpp"
#include "machine.hpp"
#include "random.hpp"
#include "rw_site.hpp"
#include "settings.hpp"
#include "simulation.hpp"
#include "site.hpp"
#include "trace.hpp"

namespace lockwright::simulate {

/// What a workload is made from.
struct context {
  simulation& in;
  const lock_entry* lock;      ///< null for a workload of reader-writer locks
  const rwlock_entry* rwlock;  ///< that of reader-writer workloads; of a model's, --rwlock
  /// The lock of that name; refuses a name without a lock.
  const lock_entry& (*named)(const std::string& name);
  const settings& given;
  record& recorded;
  rw_record& readers_and_writers;
  trace* shown;

  [[nodiscard]] std::uint64_t threads() const { return given.count("threads"); }
  [[nodiscard]] picoseconds cycles(const char* name) const {
    return lasting(name, in.on().all.cycle);
  }
  /// The duration of so many steps as the parameter says, each of which takes `step`.
  [[nodiscard]] picoseconds lasting(const char* name, picoseconds step) const {
    constexpr picoseconds longest = 100'000'000'000'000;
    if (step != 0 && given.count(name) > longest / step) {
      refuse(std::string("'") + name +
             "' is above 100 s, so that the workload does not end; give less");
    }
    return given.count(name) * step;
  }
  [[nodiscard]] std::unique_ptr<site> make_site() const {
    return std::make_unique<site>(in, *lock, given.count("data-lines"), recorded, shown);
  }
};

class workload {
 public:
  workload() = default;
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;
  virtual ~workload() = default;

  /// Threads beside those of --threads, with the last indices.
  [[nodiscard]] virtual std::uint64_t helpers() const { return 0; }
  /// Runs one iteration of a thread; returns its operations.
  virtual std::uint64_t step(std::uint32_t index) = 0;
  /// Called after the measurement, by a thread that has left its loop: wakes threads that wait for
  /// others.
  virtual void release_waiters() {}
  /// Returns the fault found when all threads have ended; null if there is none.
  [[nodiscard]] virtual const char* find_fault() const { return nullptr; }
};

struct description {
  const char* name;
  const char* measures;
  std::vector<parameter> parameters;
  std::unique_ptr<workload> (*make)(const context&);
  bool of_rwlocks = false;  ///< its lock is a reader-writer lock
};

const std::vector<description>& catalogue();

}  // namespace lockwright::simulate
