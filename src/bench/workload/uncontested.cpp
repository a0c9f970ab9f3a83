// Each thread takes a mutex that no other wants.
#include "catalogue.hpp"
#include "crew.hpp"
#include "sites.hpp"

namespace bench {
namespace {

struct lone_sections {
  explicit lone_sections(const settings& given)
      : section{settings::loops_of_cycles(given.real("section-cycles"))}, sites{given.threads()} {}

  struct alignas(apart) own {
    own(lone_sections& w, const settings& /*given*/, std::size_t index)
        : section{w.section}, mine{w.sites[index]} {}
    std::uint64_t section;
    site& mine;
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
  site_array sites;
};

}  // namespace

const description uncontested{
    .name = "uncontested",
    .measures = "threads that each take a mutex of their own, which nobody else wants",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, table 2",
    .operation = "acquisitions",
    .threads = 1,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"}},
    .run = run_workload<lone_sections>,
};

}  // namespace bench
