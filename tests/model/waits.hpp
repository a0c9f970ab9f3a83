// How threads wait in the programs of condition variables and semaphores.
#pragma once

#include <cstdint>
#include <exception>
#include <new>

#include "preload/waiters.hpp"
#include "scenarios.hpp"

namespace lockwright::check {

/// A process that is not the first of its chain of forks: its objects carry a stamp.
struct forked_model : model {
  static std::uint32_t stamp() { return 0x0001'0000; }
  static bool is_watched() { return model_env::world_now.watched; }
};

struct no_mutex {};

/// How a thread waits.
enum class patience : std::uint8_t {
  endless,      ///< until it is signalled
  timed,        ///< until a deadline, which may come at any moment
  cancellable,  ///< until it is cancelled, at any moment
};

enum class ending : std::uint8_t { signalled, timed_out, cancelled };

/// Sleeps of the three kinds on the waiter's word, for sleep_until_claimed(). Asynchronous
/// cancellation leaves the sleep at any moment by a long jump; an exception stands for that.
struct cancellation : std::exception {};

template <class Waiter>
bool sleep_once(Waiter& self, patience how) {
  if (how == patience::endless) {
    model::wait(self.state, Waiter::waiting);
    return true;
  }
  const bool over =
      model_env::futex_wait_a_while(self.state, Waiter::waiting, model::location::current());
  if (how == patience::timed) {
    return !over;
  }
  if (over || model_env::choose(2) == 1) {
    throw cancellation{};
  }
  return true;
}

/// A frame of the stack in which a thread waits: gone when the wait is over, so that the thread
/// that comes too late is caught, and used again by the next wait.
template <class Wait>
class frame {
 public:
  /// The wait that make() returns, which cannot be moved.
  template <class Make>
  Wait& enter(Make make) {
    return *::new (static_cast<void*>(room_)) Wait(make());
  }
  static void leave(Wait& wait) { wait.~Wait(); }

 private:
  alignas(Wait) unsigned char room_[sizeof(Wait)];
};

/// How a wait on the stack ends: `sleep` is its way to sleep until it is claimed.
template <class Wait, class Sleep>
ending ending_of(Wait& wait, Sleep sleep) {
  // The handler runs when the exception is over: other threads throw meanwhile.
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
