// All threads contend for one mutex, with equal sections.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mutexes.hpp"
#include "settings.hpp"

namespace bench {

template <class Mutex>
struct equal_sections : with_one_mutex_of<Mutex> {
  explicit equal_sections(const settings& /*given*/) {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(equal_sections& /*w*/, const settings& given, std::size_t /*index*/)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))} {}
    std::uint64_t section;
    std::uint64_t gap;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    meter.work(me.section);
    meter.unlock(this->shared);
    meter.work(me.gap);
    return 1;
  }
};

}  // namespace bench
