// The source location of an operation.
#pragma once

#include <version>

#ifdef __cpp_lib_source_location
#include <source_location>

namespace lockwright::model_env {

using location = std::source_location;

}  // namespace lockwright::model_env
#else
#include <cstdint>

namespace lockwright::model_env {

/// The interface of std::source_location, which clang has only since version 16.
class location {
 public:
  static constexpr location current(const char* file = __builtin_FILE(),
                                    std::uint32_t line = __builtin_LINE(),
                                    std::uint32_t column = __builtin_COLUMN()) {
    location here;
    here.file_ = file;
    here.line_ = line;
    here.column_ = column;
    return here;
  }

  [[nodiscard]] constexpr const char* file_name() const { return file_; }
  [[nodiscard]] constexpr std::uint32_t line() const { return line_; }
  [[nodiscard]] constexpr std::uint32_t column() const { return column_; }

 private:
  const char* file_ = "";
  std::uint32_t line_ = 0;
  std::uint32_t column_ = 0;
};

}  // namespace lockwright::model_env
#endif
