// The mutexes of a workload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../meter/mutex_meter.hpp"

namespace bench {

// A workload with one mutex for all its threads.
template <class Mutex>
struct with_one_mutex_of {
  guarded_mutex_of<Mutex> shared;
  [[nodiscard]] std::uint64_t taken() const { return shared.taken; }
  [[nodiscard]] std::uint64_t recorded() const { return shared.recorded; }
};
using with_one_mutex = with_one_mutex_of<pthread_mutex_t>;

// Any number of them.
template <class Mutex>
class mutex_array_of {
 public:
  explicit mutex_array_of(std::size_t count)
      : count_{count}, sites_{new guarded_mutex_of<Mutex>[count]} {}
  guarded_mutex_of<Mutex>& operator[](std::size_t i) { return sites_[i]; }
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
  std::unique_ptr<guarded_mutex_of<Mutex>[]> sites_;
};
using mutex_array = mutex_array_of<pthread_mutex_t>;

}  // namespace bench
