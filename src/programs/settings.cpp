#include "settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace lockwright::programs {
namespace {

[[noreturn]] void end_with(int status, const std::string& what) {
  // Several threads may find the same fault; the first one ends the process.
  static std::atomic_flag has_begun;
  while (has_begun.test_and_set()) {
    pause();
  }
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::fflush(nullptr);
  // Not exit: other threads may be inside the lock under test.
  std::_Exit(status);
}

std::string quoted(std::string_view name, const std::string& text) {
  return "option '--" + std::string(name) + "' has the value '" + text + "'";
}

// The place of `word` in the parameter's words.
double place_of(const parameter& known, const std::string& word) {
  std::istringstream words(known.words);
  int place = 0;
  for (std::string one; std::getline(words, one, ','); ++place) {
    if (one == word) {
      return place;
    }
  }
  refuse(quoted(known.name, word) + "; give one of " + known.words);
}

double number(const parameter& known, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(value)) {
    refuse(quoted(known.name, text) + "; give it a number");
  }
  // An initial value below the least one stands for none.
  if (value < std::min(known.least, known.initial)) {
    std::ostringstream least;
    least << known.least;
    refuse("option '--" + std::string(known.name) + "' is out of range; give " + least.str() +
           " or more");
  }
  return value;
}

}  // namespace

void refuse(const std::string& what) { end_with(2, what); }
void fail(const std::string& what) { end_with(1, what); }

settings::settings(int argc, char** argv, std::vector<std::string> texts)
    : texts_{std::move(texts)} {
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help") {
      wants_help_ = true;
    } else if (word.size() < 3 || word.rfind("--", 0) != 0) {
      refuse("unknown option '" + word + "'; give options as '--name value'");
    } else if (i + 1 == argc) {
      refuse("option '" + word + "' has no value; give it one");
    } else {
      given_.emplace_back(word.substr(2), argv[++i]);
    }
  }
}

void settings::add(const std::vector<parameter>& list) {
  for (const parameter& p : list) {
    const auto before = std::find_if(values_.begin(), values_.end(), [&](const auto& value) {
      return std::string_view(value.first.name) == p.name;
    });
    auto& value = before == values_.end() ? values_.emplace_back() : *before;
    value = {p, p.initial};
    for (const auto& [name, text] : given_) {
      if (name == p.name) {
        value.second = p.words != nullptr ? place_of(p, text) : number(p, text);
      }
    }
  }
}

void settings::use(const std::vector<preset>& presets, const char* workload) {
  const std::string wanted = text("preset");
  if (wanted.empty()) {
    return;
  }
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const preset& p) { return wanted == p.name; });
  if (found == presets.end()) {
    refuse("'" + wanted + "' is no preset of '" + workload +
           "'; 'lockwright bench --list' shows them");
  }
  std::istringstream pairs(found->values);
  for (std::string pair; pairs >> pair;) {
    const std::size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    for (auto& [known, value] : values_) {
      if (name == known.name && text(name).empty()) {
        value = number(known, pair.substr(equals + 1));
      }
    }
  }
}

void settings::complete() const {
  for (const auto& [name, text] : given_) {
    if (!has(name) && std::find(texts_.begin(), texts_.end(), name) == texts_.end()) {
      refuse("unknown option '--" + name + "'; '--help' beside the workload shows those it has");
    }
  }
  if (wants_help_) {
    for (const auto& [known, value] : values_) {
      std::printf("  --%s %.15g%s%s\n", known.name, value, *known.meaning != '\0' ? "  " : "",
                  known.meaning);
    }
    std::exit(0);
  }
}

bool settings::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const auto& value) { return value.first.name == name; });
}

double settings::real(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (name == known.name) {
      return value;
    }
  }
  fail("option '" + std::string(name) + "' was not declared");
}

std::uint64_t settings::count(std::string_view name, std::uint64_t least) const {
  const double value = real(name);
  if (value < static_cast<double>(least) || value > 1e15 || value != std::floor(value)) {
    refuse("option '--" + std::string(name) + "' is out of range; give it a whole number of " +
           std::to_string(least) + " or more");
  }
  return static_cast<std::uint64_t>(value);
}

std::string settings::text(std::string_view name) const {
  std::string found;
  for (const auto& [known, value] : given_) {
    found = known == name ? value : found;
  }
  return found;
}

}  // namespace lockwright::programs
