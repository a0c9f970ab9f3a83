// The mutexes of a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../meter/probe.hpp"

namespace bench {

// A workload with one mutex for all its threads.
struct with_one_site {
  site shared;
  [[nodiscard]] std::uint64_t taken() const { return shared.taken; }
  [[nodiscard]] std::uint64_t recorded() const { return shared.recorded; }
};

// Any number of them.
class site_array {
 public:
  explicit site_array(std::size_t count) : count_{count}, sites_{new site[count]} {}
  site& operator[](std::size_t i) { return sites_[i]; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      sum += sites_[i].taken;
    }
    return sum;
  }

 private:
  std::size_t count_;
  std::unique_ptr<site[]> sites_;
};

}  // namespace bench
