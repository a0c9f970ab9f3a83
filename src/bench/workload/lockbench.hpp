// Sections and gaps whose lengths are drawn evenly from an interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mutexes.hpp"
#include "random.hpp"
#include "settings.hpp"

namespace bench {

class interval {
 public:
  interval(const settings& given, const std::string& name)
      : low_{given.loops_of_ns(given.real(name + "-min-ns"))},
        span_{given.loops_of_ns(given.real(name + "-max-ns"))} {
    if (span_ < low_) {
      refuse("'--" + name + "-max-ns' is below '--" + name + "-min-ns'; give a larger one");
    }
    span_ -= low_;
  }
  [[nodiscard]] std::uint64_t draw(random_source& random) const {
    return low_ + random.below(span_);
  }

 private:
  std::uint64_t low_;
  std::uint64_t span_;
};

template <class Mutex>
struct drawn_sections : with_one_mutex_of<Mutex> {
  explicit drawn_sections(const settings& given) : section{given, "section"}, gap{given, "gap"} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(drawn_sections& w, const settings& /*given*/, std::size_t index)
        : section{w.section}, gap{w.gap}, random{index} {}
    interval section;
    interval gap;
    random_source random;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    const std::uint64_t section_loops = me.section.draw(me.random);
    meter.lock(this->shared);
    meter.work(section_loops);
    meter.unlock(this->shared);
    meter.work(me.gap.draw(me.random));
    return 1;
  }

  interval section;
  interval gap;
};

}  // namespace bench
