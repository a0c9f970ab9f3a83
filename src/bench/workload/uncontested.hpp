// Each thread takes a mutex that no other wants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "settings.hpp"
#include "sites.hpp"

namespace bench {

template <class Mutex>
struct lone_sections {
  explicit lone_sections(const settings& given)
      : section{settings::loops_of_cycles(given.real("section-cycles"))}, sites{given.threads()} {}

  struct alignas(apart) own {
    own(lone_sections& w, const settings& /*given*/, std::size_t index)
        : section{w.section}, mine{w.sites[index]} {}
    std::uint64_t section;
    site_of<Mutex>& mine;
  };

  template <class Probe>
  static std::uint64_t step(own& me, Probe& meter) {
    meter.lock(me.mine);
    meter.work(me.section);
    meter.unlock(me.mine);
    return 1;
  }

  [[nodiscard]] std::uint64_t taken() const { return sites.taken(); }

  std::uint64_t section;
  site_array_of<Mutex> sites;
};

}  // namespace bench
