// Shared by workloads without a lock: they show the cost of waiting and waking, which every lock
// has.
#pragma once

#include <cstdint>

#include "../../calibrate/support.hpp"
#include "../meter/usage.hpp"
#include "settings.hpp"

namespace bench {

// The usage of a run since its construction, and the line that reports it.
class lockless_run {
 public:
  explicit lockless_run(const settings& given)
      : given_{given}, used_{usage_so_far()}, began_{now_ns()} {}

  [[nodiscard]] double seconds() const { return static_cast<double>(now_ns() - began_) / 1e9; }

  // Ends the run. `fields` adds the figures, given the seconds that it took.
  template <class Fields>
  int end(const char* workload, std::uint64_t operations, Fields fields) const {
    const double took = seconds();
    const usage after = usage_so_far();
    result line(workload, "measured");
    line.field("threads", given_.threads()).field("seconds", took).field("operations", operations);
    fields(line, took);
    add_usage(line, used_, after);
    add_origin(line);
    line.print();
    return 0;
  }

 private:
  const settings& given_;
  usage used_;
  std::uint64_t began_;
};

// Processor cycles, as the loops of busy work count them.
inline std::uint64_t ns_of_cycles(const settings& given, double cycles) {
  return static_cast<std::uint64_t>(cycles / static_cast<double>(cycles_per_loop) /
                                    given.loops_per_us() * 1e3);
}

}  // namespace bench
