// The workloads that simulated threads run.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../programs/settings.hpp"
#include "../workload/description.hpp"
#include "lock_entry.hpp"
#include "machine.hpp"
#include "rw_site.hpp"
#include "simulation.hpp"
#include "site.hpp"
#include "trace.hpp"

namespace lockwright::simulate {

/// Random numbers of the calling thread; before the simulation begins, of its seed.
struct drawing {
  random_source* before;
  std::uint64_t below(std::uint64_t n) const {
    thread* const caller = running().caller();
    return (caller == nullptr ? *before : caller->random).below(n);
  }
};

/// What a workload is made from: the settings of src/workload.
struct context {
  simulation& in;
  const lock_entry* lock;      ///< null for a workload of reader-writer locks
  const rwlock_entry* rwlock;  ///< that of reader-writer workloads; of a model's, --rwlock
  /// The lock of that name; refuses a name without a lock.
  const lock_entry& (*named)(const std::string& name);
  const programs::settings& given;
  random_source& before;  ///< for numbers that are drawn before the simulation begins
  record& recorded;
  rw_record& readers_and_writers;
  trace* shown;

  [[nodiscard]] double real(const char* name) const { return given.real(name); }
  [[nodiscard]] std::uint64_t count(const char* name, std::uint64_t least = 0) const {
    return given.count(name, least);
  }
  [[nodiscard]] bool is(const char* name) const { return given.is(name); }
  [[nodiscard]] std::uint64_t threads() const { return count("threads"); }
  [[nodiscard]] drawing random(std::size_t /*index*/) const { return {&before}; }
  /// The parameter `what`-cycles or `what`-ns, in picoseconds.
  [[nodiscard]] picoseconds length(const std::string& what) const {
    const bool in_ns = given.has(what + "-ns");
    return in_ns ? lasting(what + "-ns", 1000) : lasting(what + "-cycles", in.on().all.cycle);
  }
  /// The duration of so many steps as the parameter says, each of which takes `step`.
  [[nodiscard]] picoseconds lasting(const std::string& name, picoseconds step) const {
    constexpr picoseconds longest = 100'000'000'000'000;
    const auto steps = static_cast<std::uint64_t>(real(name.c_str()));
    if (step != 0 && steps > longest / step) {
      refuse("'" + name + "' is above 100 s, so that the workload does not end; give less");
    }
    return steps * step;
  }
  [[nodiscard]] std::unique_ptr<site> make_site() const {
    return std::make_unique<site>(in, *lock, count("data-lines"), recorded, shown);
  }
};

/// In simulated memory, on lines of its own, for as long as the simulation lasts.
template <class T, class... Arguments>
T& placed(simulation& in, Arguments&&... arguments) {
  constexpr std::size_t pair = workloads::cache_line_pair;
  return *::new (in.memory.cut(sizeof(T) + pair, pair)) T(arguments...);
}

class workload {
 public:
  workload() = default;
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;
  virtual ~workload() = default;

  // As in src/workload/description.hpp.
  [[nodiscard]] virtual std::uint64_t helpers() const { return 0; }
  virtual std::uint64_t step(std::uint32_t index) = 0;
  /// Called after the measurement, by a thread that has left its loop.
  virtual void release_waiters() {}
  [[nodiscard]] virtual std::string find_fault(std::uint64_t /*operations*/) const { return ""; }
};

struct simulated_workload {
  const workloads::description* about;
  std::unique_ptr<workload> (*make)(const context&);
};

const std::vector<simulated_workload>& catalogue();

std::unique_ptr<workload> make_last_user_destroys(const context& with);
std::unique_ptr<workload> make_modelled(const context& with);

}  // namespace lockwright::simulate
