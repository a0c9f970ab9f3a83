// Each thread takes a mutex that no other thread uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mutexes.hpp"
#include "settings.hpp"

namespace bench {

template <class Mutex>
struct lone_sections {
  explicit lone_sections(const settings& given)
      : section{settings::loops_of_cycles(given.real("section-cycles"))},
        mutexes{given.threads()} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(lone_sections& w, const settings& /*given*/, std::size_t index)
        : section{w.section}, mine{w.mutexes[index]} {}
    std::uint64_t section;
    guarded_mutex_of<Mutex>& mine;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(me.mine);
    meter.work(me.section);
    meter.unlock(me.mine);
    return 1;
  }

  [[nodiscard]] std::uint64_t taken() const { return mutexes.taken(); }

  std::uint64_t section;
  mutex_array_of<Mutex> mutexes;
};

}  // namespace bench
