// The mutexes of a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../meter/probe.hpp"

namespace bench {

// A workload with one mutex for all its threads.
template <class Mutex>
struct with_one_site_of {
  site_of<Mutex> shared;
  [[nodiscard]] std::uint64_t taken() const { return shared.taken; }
  [[nodiscard]] std::uint64_t recorded() const { return shared.recorded; }
};
using with_one_site = with_one_site_of<pthread_mutex_t>;

// Any number of them.
template <class Mutex>
class site_array_of {
 public:
  explicit site_array_of(std::size_t count) : count_{count}, sites_{new site_of<Mutex>[count]} {}
  site_of<Mutex>& operator[](std::size_t i) { return sites_[i]; }
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
  std::unique_ptr<site_of<Mutex>[]> sites_;
};
using site_array = site_array_of<pthread_mutex_t>;

}  // namespace bench
