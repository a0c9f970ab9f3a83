#include "settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
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

// The place of `word` in a list with commas, as text.
std::string place_of(const parameter& known, const std::string& word) {
  std::istringstream words(known.words);
  int place = 0;
  for (std::string one; std::getline(words, one, ','); ++place) {
    if (one == word) {
      return std::to_string(place);
    }
  }
  refuse("option '--" + std::string(known.name) + "' has the value '" + word + "'; give one of " +
         known.words);
}

const parameter* find(const std::vector<parameter>& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const parameter& p) { return name == p.name; });
  return found == list.end() ? nullptr : &*found;
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

settings::settings(const description& workload, int argc, char** argv) {
  std::vector<options::known> known{{"threads", static_cast<double>(workload.threads)}};
  for (const auto* list : {&common_parameters(), &workload.parameters}) {
    for (const parameter& p : *list) {
      known.push_back({p.name, p.initial});
    }
  }
  // The preset's values first, so that what is given after them replaces them.
  std::vector<std::string> from_preset;
  std::vector<std::string> from_line;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--preset" && has_value) {
      const std::string wanted = argv[++i];
      const auto found = std::find_if(workload.presets.begin(), workload.presets.end(),
                                      [&](const preset& p) { return wanted == p.name; });
      if (found == workload.presets.end()) {
        refuse("'" + wanted + "' is no preset of '" + workload.name +
               "'; 'lockwright bench --list' shows them");
      }
      std::istringstream pairs(found->values);
      for (std::string pair; pairs >> pair;) {
        const std::size_t equals = pair.find('=');
        from_preset.push_back("--" + pair.substr(0, equals));
        from_preset.push_back(pair.substr(equals + 1));
      }
    } else if (word == "--pin" && has_value) {
      places_ = parse_places(argv[++i]);
    } else {
      const parameter* const p =
          word.size() > 2 ? find(workload.parameters, std::string_view(word).substr(2)) : nullptr;
      from_line.push_back(word);
      if (p != nullptr && p->words != nullptr && has_value) {
        from_line.push_back(place_of(*p, argv[++i]));
      } else if (has_value) {
        from_line.emplace_back(argv[++i]);
      }
    }
  }
  std::vector<char*> words;
  for (auto* list : {&from_preset, &from_line}) {
    for (std::string& word : *list) {
      words.push_back(word.data());
    }
  }
  given_ = std::make_unique<options>(static_cast<int>(words.size()), words.data(), known);
  for (const auto* list : {&common_parameters(), &workload.parameters}) {
    for (const parameter& p : *list) {
      if (real(p.name) < p.least) {
        std::ostringstream least;
        least << p.least;
        refuse("option '--" + std::string(p.name) + "' is out of range; give " + least.str() +
               " or more");
      }
    }
  }
  if (is("admissions") && !workload.one_mutex) {
    refuse("'" + std::string(workload.name) +
           "' has no single mutex whose admissions could be recorded; leave out '--admissions'");
  }
  scale_ = work_scale(real("loops-per-us"));
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
