// Sections and gaps whose lengths are drawn evenly from an interval.
#include "catalogue.hpp"
#include "crew.hpp"
#include "random.hpp"
#include "sites.hpp"

namespace bench {
namespace {

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

struct drawn_sections : with_one_site {
  explicit drawn_sections(const settings& given) : section{given, "section"}, gap{given, "gap"} {}

  struct alignas(apart) own {
    own(drawn_sections& w, const settings& /*given*/, std::size_t index)
        : section{w.section}, gap{w.gap}, random{index} {}
    interval section;
    interval gap;
    random_source random;
  };

  template <class Probe>
  std::uint64_t step(own& me, Probe& meter) {
    const std::uint64_t section_loops = me.section.draw(me.random);
    meter.lock(shared);
    meter.work(section_loops);
    meter.unlock(shared);
    meter.work(me.gap.draw(me.random));
    return 1;
  }

  interval section;
  interval gap;
};

}  // namespace

const description lockbench{
    .name = "lockbench",
    .measures = "threads that want one mutex, sections and gaps of lengths drawn from an interval",
    .source = "Marotta et al., Mutable Locks, 2019, LOCKBENCH, figures 3 to 5",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-min-ns", 0, "ns", "shortest work while the mutex is held"},
                   {"section-max-ns", 3700, "ns", "longest, never reached"},
                   {"gap-min-ns", 0, "ns", "shortest work between two acquisitions of a thread"},
                   {"gap-max-ns", 3700, "ns", "longest, never reached"}},
    .presets = {{"short-short", "section-max-ns=3700 gap-max-ns=3700",
                 "figure 3 (a) and (b): short sections, medium contention"},
                {"long-short", "section-max-ns=366000 gap-max-ns=3700",
                 "figure 3 (c) and (d): long sections, high contention"},
                {"short-long", "section-max-ns=3700 gap-max-ns=366000",
                 "figure 3 (e) and (f): short sections, very low contention"},
                {"long-long", "section-max-ns=366000 gap-max-ns=366000",
                 "figure 3 (g) and (h): long sections, moderate contention"}},
    .one_mutex = true,
    .run = run_workload<drawn_sections>,
};

}  // namespace bench
