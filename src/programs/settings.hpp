// The options of the measuring programs: `--name value`, from descriptions of the parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockwright::programs {

// Prints one line on stderr and exits with status 2 (bad request) or 1 (the system or a lock failed).
[[noreturn]] void refuse(const std::string& what);
[[noreturn]] void fail(const std::string& what);

struct parameter {
  const char* name;
  double initial;
  const char* unit = "";  // "" for a plain number
  const char* meaning = "";
  double least = 0;
  // If the value is one of a few words: the words, separated by commas; the value is the index.
  const char* words = nullptr;
};

// Values that belong together, as "name=value name=value".
struct preset {
  const char* name;
  const char* values;
  const char* meaning;
};

// Each function ends the program for a bad request.
class settings {
 public:
  // texts: the options whose values are words of any kind.
  settings(int argc, char** argv, std::vector<std::string> texts = {});

  // Takes the values of these parameters; what is given again with a new initial value has that one.
  void add(const std::vector<parameter>& list);
  // The values of a preset are those of parameters that are not given.
  void use(const std::vector<preset>& presets, const char* workload);
  // To be called after all are added: refuses the options that no parameter takes, and prints the
  // values for `--help`.
  void complete() const;

  [[nodiscard]] double real(std::string_view name) const;
  // As `real`, for counts: a whole number, at least `least`.
  [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t least = 0) const;
  [[nodiscard]] bool is(std::string_view name) const { return real(name) != 0; }
  // The processor that the option names; negative for none.
  [[nodiscard]] std::int64_t processor(std::string_view name) const {
    return static_cast<std::int64_t>(real(name));
  }
  // Whether there is such a parameter.
  [[nodiscard]] bool has(std::string_view name) const;
  // "" where it was not given.
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  bool wants_help_ = false;
  std::vector<std::string> texts_;
  std::vector<std::pair<std::string, std::string>> given_;  // by name, without the dashes
  std::vector<std::pair<parameter, double>> values_;
};

}  // namespace lockwright::programs
