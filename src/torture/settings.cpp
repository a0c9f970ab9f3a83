#include "settings.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "../programs/settings.hpp"
#include "plan.hpp"

namespace torture {
namespace {

using lockwright::programs::refuse;

constexpr std::uint64_t most = 1'000'000'000;

// Not by way of a double: a seed has 64 bits.
std::uint64_t seed_of(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end != '\0' || text.front() == '-' || errno != 0) {
    refuse("option '--seed' has the value '" + text + "'; give a whole number from 0 up");
  }
  return value;
}

std::vector<std::string> words(const char* option, const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    found.push_back(text.substr(from, to - from));
    from = to + 1;
    if (!is_part(found.back())) {
      refuse(std::string("'--") + option + "' knows no '" + found.back() +
             "'; 'lockwright torture --help' lists the kinds");
    }
  }
  return found;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool settings::wants(const std::string& kind) const {
  return !contains(without, kind) && (only.empty() || contains(only, kind));
}

settings read_settings(int argc, char** argv) {
  lockwright::programs::settings options(argc - 1, argv + 1, {"seed", "only", "without"});
  options.add({
      {"seconds", 10, "s", "duration", 0.01},
      {"patience", 10, "s", "how long a thread may make no progress", 0.1},
      {"parks", 1, "", "1: waiters sleep, so up to 64 threads a processor, else 2"},
      {"fifo", 0, "", "1: the lock admits in the order of arrival"},
      {"turns", 1000, "", "acquisitions for which a lock keeps a thread in its passive set"},
      {"phase", -1, "", "only this phase of the plan, again and again"},
      {"parent", 0, "", "the process with whose end this one ends, which started it"},
  });
  options.complete();
  settings given;
  if (const std::string seed = options.text("seed"); !seed.empty()) {
    given.seed = seed_of(seed);
  }
  given.seconds = options.real("seconds");
  given.patience = options.real("patience");
  given.parks = options.is("parks");
  given.fifo = options.is("fifo");
  given.turns = std::min(options.count("turns"), most);
  given.phase = options.real("phase") < 0 ? -1 : static_cast<std::int64_t>(options.count("phase"));
  given.only = words("only", options.text("only"));
  given.without = words("without", options.text("without"));
  given.parent = static_cast<pid_t>(options.count("parent"));
  return given;
}

std::uint64_t processors() {
  // Read once, before any thread is pinned.
  static const std::uint64_t count = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint64_t>(CPU_COUNT(&set))
                                                       : std::uint64_t{1};
  }();
  return count;
}

}  // namespace torture
