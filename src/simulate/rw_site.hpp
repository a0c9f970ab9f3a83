// A reader-writer lock of a workload with the data that it guards, and what is recorded of it.
#pragma once

#include <cstdint>
#include <vector>

#include "rwlock_entry.hpp"
#include "simulation.hpp"
#include "trace.hpp"

namespace lockwright::simulate {

/// Recorded while a run is measured.
struct rw_record {
  std::uint64_t reads = 0;  ///< sections of readers that ended
  std::uint64_t writes = 0;
  std::uint64_t most_readers = 0;  ///< inside at once, also before and after
  picoseconds longest_read_wait = 0;
  picoseconds longest_write_wait = 0;
};

class rw_site {
 public:
  /// `data_lines` lines beside the lock that a writer changes and a reader reads.
  rw_site(simulation& in, const rwlock_entry& lock, std::uint64_t data_lines, rw_record& all,
          trace* shown);

  // They fail the simulation if a writer is inside beside another thread.
  void lock_read();
  void unlock_read();
  void lock_write();
  void unlock_write();

  /// Fails if a change of an earlier writer is missing, or one of a writer that is inside is there.
  void check_data();
  /// check_data(), and changes all lines.
  void change_data();

 private:
  struct stay {
    picoseconds called;
    picoseconds entered;
  };

  void enter(picoseconds called, picoseconds& longest_wait);
  void leave(std::uint64_t& sections);
  [[noreturn]] void fail_exclusion(const char* entering) const;

  simulation& simulation_;
  const rwlock_entry& entry_;
  rw_record& record_;
  trace* trace_;
  void* lock_;
  std::uint64_t* data_;
  std::uint64_t data_lines_;
  std::uint64_t changes_ = 0;
  std::uint64_t readers_ = 0;
  const thread* writer_ = nullptr;
  std::vector<stay> stays_;  ///< by thread
};

}  // namespace lockwright::simulate
