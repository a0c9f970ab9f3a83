// What an environment variable says that takes one of a few words.
#pragma once

#include <string.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::interpose {

/// What is done with a kind of object: what one of the words of the variable
/// stands for. Without one of them, the first.
template <class What, std::uint8_t Number>
class choice {
 public:
  /// `listed` is how a sentence lists the words.
  constexpr choice(const char* variable, const char* const (&words)[Number], const char* listed)
      : variable_(variable), listed_(listed) {
    for (std::uint8_t i = 0; i < Number; ++i) {
      words_[i] = words[i];
    }
  }

  // Relaxed: a thread that reads the environment again reads the same.
  What get() {
    const std::uint8_t known = known_.load(std::memory_order_relaxed);
    return static_cast<What>((known != unread_ ? known : read()) - 1);
  }

 private:
  static constexpr std::uint8_t unread_ = 0;

  /// One more than the number of the word.
  [[gnu::noinline]] std::uint8_t read() {
    const char* text = native_env::environment_variable(variable_);
    std::uint8_t found = 0;
    if (text != nullptr && *text != '\0') {
      while (found < Number && strcmp(text, words_[found]) != 0) {
        ++found;
      }
      if (found == Number) {
        native_env::complain(variable_, "='", text, "' is not ", listed_, "; it is not used");
        found = 0;
      }
    }
    ++found;
    known_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* variable_;
  const char* listed_;
  const char* words_[Number]{};
  std::atomic<std::uint8_t> known_{unread_};
};

enum class rwlock_way : std::uint8_t { keep, exclusive, phase_fair };
inline constinit choice<rwlock_way, 3> rwlocks{
    "LOCKWRIGHT_RWLOCK", {"keep", "mutex", "phase-fair"}, "keep, mutex or phase-fair"};

enum class spin_way : std::uint8_t { keep, exclusive };
inline constinit choice<spin_way, 2> spins{"LOCKWRIGHT_SPIN", {"keep", "mutex"}, "keep or mutex"};

}  // namespace lockwright::interpose
