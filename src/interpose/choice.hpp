// The value of an environment variable that takes one of a few words.
#pragma once

#include <string.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::interpose {

/// The mode in which a kind of object is handled, by the word in the variable.
template <class Mode, std::uint8_t Number>
class choice {
 public:
  /// `listed`: the words as an error message lists them.
  constexpr choice(const char* variable, const char* const (&words)[Number], const char* listed)
      : variable_(variable), listed_(listed) {
    for (std::uint8_t i = 0; i < Number; ++i) {
      words_[i] = words[i];
    }
  }

  /// otherwise: without a valid word; the same in all calls.
  // Relaxed: a thread that reads the environment again reads the same.
  Mode get(Mode otherwise = Mode{}) {
    const std::uint8_t known = known_.load(std::memory_order_relaxed);
    return static_cast<Mode>((known != unread_ ? known : read(otherwise)) - 1);
  }

 private:
  static constexpr std::uint8_t unread_ = 0;

  /// Returns one more than the number of the word.
  [[gnu::noinline]] std::uint8_t read(Mode otherwise) {
    const char* text = native_env::environment_variable(variable_);
    auto number = static_cast<std::uint8_t>(otherwise);
    if (text != nullptr && *text != '\0') {
      number = 0;
      while (number < Number && strcmp(text, words_[number]) != 0) {
        ++number;
      }
      if (number == Number) {
        native_env::complain(variable_, "='", text, "' is not one of ", listed_,
                             "; it is not used");
        number = static_cast<std::uint8_t>(otherwise);
      }
    }
    ++number;
    known_.store(number, std::memory_order_relaxed);
    return number;
  }

  const char* variable_;
  const char* listed_;
  const char* words_[Number]{};
  std::atomic<std::uint8_t> known_{unread_};
};

/// The C library's reader-writer lock, the mutex in its place, or a row of rwlocks.def.
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) identifier,
enum class rwlock_mode : std::uint8_t {
  keep,
  exclusive,
#include "lockwright/rwlocks.def"
  number,
};
#undef LOCKWRIGHT_RWLOCK
#define LOCKWRIGHT_RWLOCK(name, ...) name,
inline constinit choice<rwlock_mode, static_cast<std::uint8_t>(rwlock_mode::number)> rwlocks{
    "LOCKWRIGHT_RWLOCK",
    {
        "keep",
        "mutex",
#include "lockwright/rwlocks.def"
    },
#undef LOCKWRIGHT_RWLOCK
#define LOCKWRIGHT_RWLOCK(name, ...) ", " name
    "keep, mutex"
#include "lockwright/rwlocks.def"
};
#undef LOCKWRIGHT_RWLOCK

enum class spin_mode : std::uint8_t { keep, exclusive };
inline constinit choice<spin_mode, 2> spins{"LOCKWRIGHT_SPIN", {"keep", "mutex"}, "keep, mutex"};

}  // namespace lockwright::interpose
