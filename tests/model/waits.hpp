// The waits of threads in the scenarios of condition variables and semaphores.
#pragma once

#include <cstdint>
#include <exception>
#include <new>

#include "preload/waiters.hpp"
#include "scenarios.hpp"

namespace lockwright::check {

/// A process of a later generation: its objects carry a stamp.
struct forked_model : model {
  static std::uint32_t stamp() { return 0x0001'0000; }
  static bool is_watched() { return model_env::settings_now.watched; }
};

struct no_mutex {};

/// The events that end a wait.
enum class wait_limit : std::uint8_t {
  endless,      ///< a signal
  timed,        ///< also a deadline, which may pass at any moment
  cancellable,  ///< also a cancellation, at any moment
};

enum class ending : std::uint8_t { signalled, timed_out, cancelled };

/// Replaces the long jump by which asynchronous cancellation leaves a sleep at any moment.
struct cancellation : std::exception {};

/// Sleeps on the waiter's word, for sleep_until_claimed(); returns false at the deadline.
template <class Waiter>
bool sleep_once(Waiter& self, wait_limit until) {
  if (until == wait_limit::endless) {
    model::wait(self.state, Waiter::waiting);
    return true;
  }
  const bool over =
      model_env::futex_wait_a_while(self.state, Waiter::waiting, model::location::current());
  if (until == wait_limit::timed) {
    return !over;
  }
  if (over || model_env::choose(2) == 1) {
    throw cancellation{};
  }
  return true;
}

/// The stack frame of a wait: destroyed after the wait, so that a late access is detected, and
/// reused by the next wait.
template <class Wait>
class frame {
 public:
  /// Constructs the wait that make() returns, which cannot be moved.
  template <class Make>
  Wait& enter(Make make) {
    return *::new (static_cast<void*>(memory_)) Wait(make());
  }
  static void leave(Wait& wait) { wait.~Wait(); }

 private:
  alignas(Wait) unsigned char memory_[sizeof(Wait)];
};

/// Returns the end of a wait, which sleep() sleeps until.
template <class Wait, class Sleep>
ending ending_of(Wait& wait, Sleep sleep) {
  // cancel() runs after the exception handler: other threads throw meanwhile.
  ending end = ending::timed_out;
  try {
    if (sleep()) {
      end = ending::signalled;
    }
  } catch (const cancellation&) {
    end = ending::cancelled;
  }
  if (end == ending::cancelled) {
    wait.cancel();
  }
  return end;
}

}  // namespace lockwright::check
