// All threads want one mutex, for sections that are all alike.
#include "catalogue.hpp"
#include "crew.hpp"
#include "sites.hpp"

namespace bench {
namespace {

struct equal_sections : with_one_site {
  explicit equal_sections(const settings& /*given*/) {}

  struct alignas(apart) own {
    own(equal_sections& /*w*/, const settings& given, std::size_t /*index*/)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))} {}
    std::uint64_t section;
    std::uint64_t gap;
  };

  template <class Probe>
  std::uint64_t step(own& me, Probe& meter) {
    meter.lock(shared);
    meter.work(me.section);
    meter.unlock(shared);
    meter.work(me.gap);
    return 1;
  }
};

}  // namespace

const description single_lock{
    .name = "single-lock",
    .measures = "threads that all want one mutex, for sections of one length",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figures 8, 9 and 11",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-cycles", 1000, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
    .one_mutex = true,
    .run = run_workload<equal_sections>,
};

}  // namespace bench
