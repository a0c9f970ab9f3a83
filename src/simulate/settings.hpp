// The options of a run: the common ones and the parameters of its workload.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockwright::simulate {

struct parameter {
  const char* name;
  double initial;
  const char* meaning;
};

/// `--name value` pairs.
class settings {
 public:
  settings(int argc, char** argv);

  /// Takes the parameters of a workload beside the common options; refuses what is none of them.
  void add(const std::vector<parameter>& known);

  [[nodiscard]] double real(const std::string& name) const { return values_.at(name); }
  [[nodiscard]] std::uint64_t count(const std::string& name) const {
    return static_cast<std::uint64_t>(values_.at(name));
  }
  /// A word: `machine`, `lock`, `rwlock`, `load`, `workload`, `model` or `trace`; "" where it was
  /// not given.
  [[nodiscard]] const std::string& word(const std::string& name) const { return words_.at(name); }

 private:
  std::map<std::string, std::string> words_;
  std::map<std::string, std::string> given_;
  std::map<std::string, double> values_;
};

}  // namespace lockwright::simulate
