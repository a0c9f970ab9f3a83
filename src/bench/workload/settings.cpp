#include "settings.hpp"

#include <cstdlib>
#include <sstream>

namespace bench {
namespace {

// "1,4-6;2" as a set for each thread in turn.
std::vector<cpu_set_t> parse_places(const std::string& text) {
  std::vector<cpu_set_t> places;
  std::istringstream sets(text);
  for (std::string one; std::getline(sets, one, ';');) {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::istringstream ranges(one);
    for (std::string range; std::getline(ranges, range, ',');) {
      char* end = nullptr;
      const unsigned long first = std::strtoul(range.c_str(), &end, 10);
      const unsigned long last = *end == '-' ? std::strtoul(end + 1, &end, 10) : first;
      if (range.empty() || *end != '\0' || last < first || last >= CPU_SETSIZE) {
        refuse("option '--pin' has the value '" + text + "'; give processors as in 0;1;2-3");
      }
      for (unsigned long cpu = first; cpu <= last; ++cpu) {
        CPU_SET(cpu, &set);
      }
    }
    places.push_back(set);
  }
  return places;
}

}  // namespace

const std::vector<parameter>& common_parameters() {
  static const std::vector<parameter> list = {
      {"seconds", 10, "s", "how long a run measures", 1e-3},
      {"warm-up", 1, "s", "how long it runs before the measurement"},
      {"latency", 0, "", "1 measures how long each acquisition, section and handover takes"},
      {"admissions", 0, "", "1 records in which order the threads are admitted"},
      {"window", 1000, "admissions", "the length over which different threads are counted", 1},
      {"rate", 0, "1/s",
       "operations that each thread begins per second, at equal intervals; 0: each begins when "
       "the one before has ended"},
      {"loops-per-us", 0, "",
       "iterations of the loop of busy work in a microsecond; 0 measures it"},
  };
  return list;
}

settings::settings(const description& workload, int argc, char** argv)
    : lockwright::programs::settings{argc, argv, {"preset", "pin"}} {
  add({{"threads", static_cast<double>(workload.threads)}});
  add(common_parameters());
  add(workload.in_native_runs);
  add(workload.parameters);
  use(workload.presets, workload.name);
  complete();
  if (is("admissions") && !workload.one_mutex) {
    refuse("'" + std::string(workload.name) +
           "' has no single mutex whose admissions could be recorded; leave out '--admissions'");
  }
  if (const std::string places = text("pin"); !places.empty()) {
    places_ = parse_places(places);
  }
  // Before a thread is bound.
  allowed_processors();
  scale_ = work_scale(real("loops-per-us"));
}

std::uint64_t settings::length(const std::string& what) const {
  if (has(what + "-loops")) {
    return count(what + "-loops");
  }
  return has(what + "-ns") ? scale_.loops(real(what + "-ns"))
                           : static_cast<std::uint64_t>(real(what + "-cycles") /
                                                        static_cast<double>(cycles_per_loop));
}

void settings::pin(std::uint64_t index) const {
  if (places_.empty()) {
    return;
  }
  const cpu_set_t& set = places_[index % places_.size()];
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    fail("cannot run on the processors of --pin; choose some that this process may use");
  }
}

}  // namespace bench
