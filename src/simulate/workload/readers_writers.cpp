// Readers and writers of one reader-writer lock: rwlock.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "../rw_site.hpp"
#include "workloads.hpp"

namespace lockwright::simulate {
namespace {

class rwlock : public workload {
 public:
  explicit rwlock(const context& with)
      : in_{with.in},
        section_{with.cycles("section-cycles")},
        gap_{with.cycles("gap-cycles")},
        burst_{with.given.count("burst")},
        site_{with.in, *with.rwlock, with.given.count("data-lines"), with.readers_and_writers,
              with.shown} {
    const double read_percent = with.given.real("read-percent");
    if (read_percent > 100) {
      refuse("'--read-percent' is above 100; give a share from 0 to 100");
    }
    if (burst_ == 0) {
      refuse("'--burst' is 0; give at least 1");
    }
    // A burst is one draw, so that the share of reads is that of the acquisitions.
    const double writes = 100 - read_percent;
    bursts_ = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(draws) * writes /
                     (writes + read_percent * static_cast<double>(burst_))));
  }

  std::uint64_t step(std::uint32_t) override {
    const bool writes = in_.caller()->random.below(draws) < bursts_;
    if (writes) {
      for (std::uint64_t i = 0; i < burst_; ++i) {
        site_.lock_write();
        site_.change_data();
        in_.work(section_);
        site_.unlock_write();
      }
    } else {
      site_.lock_read();
      site_.check_data();
      in_.work(section_);
      // As a second look of the reader's code; a writer's change would be there.
      site_.check_data();
      site_.unlock_read();
    }
    in_.work(gap_);
    return writes ? burst_ : 1;
  }

 private:
  static constexpr std::uint64_t draws = 1'000'000;

  simulation& in_;
  picoseconds section_;
  picoseconds gap_;
  std::uint64_t burst_;
  std::uint64_t bursts_ = 0;  ///< among so many draws
  rw_site site_;
};

}  // namespace

std::vector<description> workloads_of_readers() {
  return {
      {"rwlock",
       "readers and writers of one reader-writer lock, named by --rwlocks",
       {{"read-percent", 90, "share of the acquisitions that are reads"},
        {"burst", 1, "writes that a thread makes one after the other"},
        {"section-cycles", 200, "work while the lock is held"},
        {"gap-cycles", 400, "work between two sections of a thread"}},
       make_workload<rwlock>,
       true},
  };
}

}  // namespace lockwright::simulate
