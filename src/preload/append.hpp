// The choice between appending a new waiter to a queue and prepending it.
#pragma once

#include <string.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native.hpp"
#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"

namespace lockwright::preload {

/// False in the library that leaves mutexes to the C library: without settings, all is to be as near
/// to the C library as this layer can be.
extern const bool adapts_by_default;

/// The share of the waiters that a queue appends; it prepends all others, and wakes from the head.
/// All: FIFO. None: LIFO, under which a thread may wait forever. One in a thousand keeps few
/// threads active and starves none: each appended thread brings those that have waited longer one
/// place nearer to the head.
///
/// Citation: D. Dice, "Malthusian Locks", EuroSys 2017.
///
///   variable | meaning
///   1        | all are appended
///   1/N      | one in N, by chance
///   0        | none
///   keep     | the C library's objects stay, and no thread polls for them
///   adaptive | each thread decides whether it polls before it is appended
class append_setting {
 public:
  constexpr append_setting(const char* variable, bool may_keep)
      : variable_(variable), may_keep_(may_keep) {}

  /// Returns true if the environment has a valid setting of a share.
  bool is_set() { return known() >= none_; }

  /// Returns true if each thread decides for itself.
  bool is_adaptive() { return known() == adaptive_; }

  /// Returns true if the caller, which begins to wait, is to be appended. True without a share.
  bool append() {
    const std::uint64_t setting = known();
    return setting < none_ || setting == all_ || native::chance(setting - none_);
  }

 private:
  //  known_ | meaning
  //  0      | the environment has not been read yet
  //  1      | adaptive
  //  2      | keep
  //  3 + n  | one in n; one in 0 is none
  static constexpr std::uint64_t unread_ = 0;
  static constexpr std::uint64_t adaptive_ = 1;
  static constexpr std::uint64_t kept_ = 2;
  static constexpr std::uint64_t none_ = 3;
  static constexpr std::uint64_t all_ = none_ + 1;
  // The limit of chance().
  static constexpr std::uint64_t max_ = 0xffffffff;

  // Relaxed: a thread that reads the environment again reads the same.
  std::uint64_t known() {
    const std::uint64_t seen = known_.load(std::memory_order_relaxed);
    return seen != unread_ ? seen : read();
  }

  [[gnu::noinline]] std::uint64_t read() {
    const char* text = native_env::environment_variable(variable_);
    std::uint64_t setting = adapts_by_default ? adaptive_ : may_keep_ ? kept_ : all_;
    std::uint64_t one_in = 0;
    if (text != nullptr && *text != '\0') {
      if (parse(text, one_in)) {
        setting = none_ + one_in;
      } else if (strcmp(text, "adaptive") == 0) {
        setting = adaptive_;
      } else if (may_keep_ && strcmp(text, "keep") == 0) {
        setting = kept_;
      } else {
        native_env::complain(variable_, "='", text, "' is not 0, 1 or 1/N; it is not used");
      }
    }
    known_.store(setting, std::memory_order_relaxed);
    return setting;
  }

  static bool parse(const char* text, std::uint64_t& one_in) {
    if ((text[0] == '0' || text[0] == '1') && text[1] == '\0') {
      one_in = text[0] == '1' ? 1 : 0;
      return true;
    }
    if (text[0] != '1' || text[1] != '/') {
      return false;
    }
    one_in = 0;
    for (text += 2; *text >= '0' && *text <= '9' && one_in <= max_; ++text) {
      one_in = one_in * 10 + static_cast<std::uint64_t>(*text - '0');
    }
    return *text == '\0' && one_in >= 1 && one_in <= max_;
  }

  const char* variable_;
  bool may_keep_;
  std::atomic<std::uint64_t> known_{unread_};
};

inline constinit append_setting append_to_condvar{"LOCKWRIGHT_COND_APPEND", false};
/// Without a share semaphores stay with the C library.
inline constinit append_setting append_to_semaphore{"LOCKWRIGHT_SEM_APPEND", true};

}  // namespace lockwright::preload
