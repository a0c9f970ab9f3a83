#include "settings.hpp"

#include <charconv>
#include <cmath>

#include "machine.hpp"

namespace lockwright::simulate {
namespace {

double number(const std::string& name, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end || !std::isfinite(value) || value < 0) {
    refuse("'--" + name + " " + text + "' is not a number from 0 up; give one");
  }
  return value;
}

const std::vector<parameter>& common() {
  static const std::vector<parameter> known{
      {"threads", 2, "threads"},
      {"seconds", 0.01, "simulated seconds that are measured"},
      {"warm-up", 0.001, "simulated seconds before that"},
      {"seed", 1, "of all random numbers"},
      {"window", 1000, "acquisitions for which the threads are counted (LWSS)"},
      {"spread", 0, "1: threads begin on all nodes in turn; 0: node after node"},
      {"balanced", 0, "1: threads beyond one for each processor begin on all in turn; 0: randomly"},
      {"main-thread", 0,
       "1: a further thread wakes the others at a gate, and wakes up when the measurement begins"},
      {"interrupt-every", 0,
       "steps of a thread until one of up to 20 us comes in between; 0: none"},
      {"data-lines", 1, "cache lines that a section changes"},
  };
  return known;
}

}  // namespace

settings::settings(int argc, char** argv)
    : words_{{"machine", ""},  {"lock", ""},  {"rwlock", ""}, {"load", ""},
             {"workload", ""}, {"model", ""}, {"trace", ""}} {
  for (int i = 0; i < argc; i += 2) {
    std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || i + 1 == argc) {
      refuse("'" + name + "' is no option with a value; run 'lockwright-simulate help'");
    }
    name.erase(0, 2);
    (words_.contains(name) ? words_ : given_)[name] = argv[i + 1];
  }
}

void settings::add(const std::vector<parameter>& known) {
  for (const std::vector<parameter>* some : {&common(), &known}) {
    for (const parameter& p : *some) {
      const auto given = given_.find(p.name);
      values_[p.name] = given == given_.end() ? p.initial : number(p.name, given->second);
    }
  }
  for (const auto& [name, text] : given_) {
    if (!values_.contains(name)) {
      refuse("the workload has no parameter '--" + name + "'; run 'lockwright-simulate help'");
    }
  }
}

}  // namespace lockwright::simulate
