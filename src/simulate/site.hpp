// A lock of a workload with the data that it guards, and what is recorded of its holders.
#pragma once

#include <cstdint>
#include <vector>

#include "lock_entry.hpp"
#include "simulation.hpp"
#include "trace.hpp"

namespace lockwright::simulate {

/// What is recorded of all sites of a run while it is measured.
struct record {
  std::vector<std::uint32_t> holders;  ///< each acquisition's thread, in their order
  std::vector<std::uint64_t> waits;    ///< each acquisition's duration in ps
  picoseconds longest_wait = 0;        ///< counts a wait that has not ended up to the end
  std::uint64_t taken = 0;             ///< acquisitions in all, also before and after
};

class site {
 public:
  /// `data_lines` lines beside the lock that each section changes.
  site(simulation& in, const lock_entry& lock, std::uint64_t data_lines, record& all, trace* shown);

  /// Fails the simulation if another thread is inside.
  void lock();
  bool try_lock();
  void unlock();
  void expect_signals() { entry_.expect_signals(lock_); }

  /// Changes the guarded data, and fails if a change of another holder is missing.
  void change_data();

  [[nodiscard]] bool is_held_by_caller() const { return holder_ == simulation_.caller(); }

 private:
  void entered(picoseconds called, bool contended);

  simulation& simulation_;
  const lock_entry& entry_;
  record& record_;
  trace* trace_;
  void* lock_;
  std::uint64_t* data_ = nullptr;
  std::uint64_t data_lines_;
  std::uint64_t changes_ = 0;
  const thread* holder_ = nullptr;
  const thread* last_holder_ = nullptr;
  std::uint32_t last_core_ = 0;
  picoseconds called_ = 0;
  picoseconds entered_ = 0;
  picoseconds released_ = 0;
};

}  // namespace lockwright::simulate
