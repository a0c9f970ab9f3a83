// The output of lockwright-bench and lockwright-torture to the calling program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockwright::programs {

// One JSON object on one line of stdout, flushed when printed: the caller may kill the program
// later.
class json_line {
 public:
  json_line& field(std::string_view name, double value);
  json_line& field(std::string_view name, std::uint64_t value);
  json_line& field(std::string_view name, std::int64_t value);
  json_line& field(std::string_view name, std::string_view value);
  json_line& field(std::string_view name, const std::vector<std::uint64_t>& values);
  void print();

 private:
  std::string text_;
  void key(std::string_view name);
};

}  // namespace lockwright::programs
