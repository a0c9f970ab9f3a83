// The values of tunables, from the program's environment variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright::native_env {

/// The name of the environment variable LOCKWRIGHT_<lock>_<name>; without a
/// lock, LOCKWRIGHT_<name>.
class variable_name {
 public:
  variable_name(const char* lock, const char* name) {
    add("LOCKWRIGHT_");
    if (lock != nullptr) {
      add(lock);
      add("_");
    }
    add(name);
    text_[used_] = '\0';
  }

  [[nodiscard]] const char* text() const { return text_; }

 private:
  void add(const char* part) {
    for (; *part != '\0' && used_ < sizeof text_ - 1; ++part) {
      const char c = *part;
      text_[used_++] = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }

  char text_[128];
  std::size_t used_ = 0;
};

/// The decimal digits of `number`.
class digits {
 public:
  explicit digits(std::uint64_t number) {
    char* at = text_ + sizeof text_ - 1;
    *at = '\0';
    do {
      *--at = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    first_ = at;
  }

  [[nodiscard]] const char* text() const { return first_; }

 private:
  char text_[24];
  const char* first_;
};

/// True if the variable holds a number within the tunable's bounds, which is then in `value`.
/// Complains of any other text that is not empty.
inline bool read_setting(const variable_name& variable, const tunable& what, std::uint64_t& value) {
  const char* text = environment_variable(variable.text());
  if (text == nullptr || *text == '\0') {
    return false;
  }
  std::uint64_t number = 0;
  const char* at = text;
  while (*at >= '0' && *at <= '9' && number < std::uint64_t{1} << 59) {
    number = number * 10 + static_cast<std::uint64_t>(*at++ - '0');
  }
  if (*at != '\0' || number < what.min || number > what.max) {
    complain(variable.text(), "='", text, "' is not a number from ", digits{what.min}.text(),
             " to ", digits{what.max}.text(), "; ", digits{what.default_value}.text(), " is used");
    return false;
  }
  value = number;
  return true;
}

[[gnu::noinline]] inline std::uint64_t read_setting(const char* lock, const tunable& what,
                                                    std::atomic<std::uint64_t>& known) {
  std::uint64_t value = what.default_value;
  if (lock == nullptr || !read_setting({lock, what.name}, what, value)) {
    read_setting({nullptr, what.name}, what, value);
  }
  // One more, so that 0 means "not read yet".
  known.store(value + 1, std::memory_order_relaxed);
  return value;
}

template <const tunable& What, const char* Lock>
inline constinit std::atomic<std::uint64_t> known_setting{0};

/// The value of a tunable, read from the environment once; relaxed, since every thread reads the
/// same.
template <const tunable& What, const char* Lock>
std::uint64_t setting() {
  const std::uint64_t known = known_setting<What, Lock>.load(std::memory_order_relaxed);
  return known != 0 ? known - 1 : read_setting(Lock, What, known_setting<What, Lock>);
}

}  // namespace lockwright::native_env
