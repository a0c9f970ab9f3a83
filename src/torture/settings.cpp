#include "settings.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plan.hpp"

namespace torture {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "lockwright-torture: %s; run 'lockwright-torture --help'\n", what.c_str());
  std::exit(2);
}

constexpr char help[] =
    "usage: lockwright-torture [--option value]...\n"
    "Stress-tests the mutexes of the preloaded library. It stops its own process now and "
    "then,\n"
    "which a shell takes for a job that was stopped: 'lockwright torture' runs it in a session of\n"
    "its own.\n"
    "  --seed N        seed of the plan (1)\n"
    "  --seconds S     duration (10)\n"
    "  --patience S    how long a thread may make no progress (10)\n"
    "  --parks 0|1     waiters sleep: up to 64 threads a processor, else 2 (1)\n"
    "  --fifo 0|1      the lock admits in the order of arrival (0)\n"
    "  --turns N       acquisitions for which a lock keeps a thread in its passive set (1000)\n"
    "  --phase N       only this phase of the plan, again and again\n"
    "  --only A,B      only these kinds of phases\n"
    "  --without A,B   leave out these phases and disturbances\n"
    "  --parent PID    end when this process, which started it, ends\n";

double number(const std::string& option, const char* text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= least && value <= most)) {
    refuse("'" + option + " " + text + "' is out of range");
  }
  return value;
}

// Not by way of a double: a seed has 64 bits.
std::uint64_t whole_number(const std::string& option, const char* text, std::uint64_t most) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || errno != 0 || value > most) {
    refuse("'" + option + " " + text + "' is out of range");
  }
  return value;
}

std::vector<std::string> words(const std::string& option, const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, to - from);
    from = to + 1;
    if (!is_part(word)) {
      refuse(std::string("'").append(option).append("' knows no '").append(word).append("'"));
    }
    found.push_back(word);
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
  settings given;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (i + 1 == argc) {
      refuse("'" + option + "' has no value");
    }
    const char* value = argv[++i];
    if (option == "--seed") {
      given.seed = whole_number(option, value, UINT64_MAX);
    } else if (option == "--seconds") {
      given.seconds = number(option, value, 0.01, 1e7);
    } else if (option == "--patience") {
      given.patience = number(option, value, 0.1, 1e5);
    } else if (option == "--parks") {
      given.parks = whole_number(option, value, 1) == 1;
    } else if (option == "--fifo") {
      given.fifo = whole_number(option, value, 1) == 1;
    } else if (option == "--turns") {
      given.turns = whole_number(option, value, 1'000'000'000);
    } else if (option == "--phase") {
      given.phase = static_cast<std::int64_t>(whole_number(option, value, 1'000'000'000));
    } else if (option == "--only") {
      given.only = words(option, value);
    } else if (option == "--without") {
      given.without = words(option, value);
    } else if (option == "--parent") {
      given.parent = static_cast<pid_t>(whole_number(option, value, INT32_MAX));
    } else {
      refuse("unknown option '" + option + "'");
    }
  }
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
