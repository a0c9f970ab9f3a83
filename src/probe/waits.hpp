// Waits for objects other than locks: condition variables, semaphores, barriers, the ends of threads,
// pthread_once, and the futexes of other libraries. Every wait is counted and measured: it is a system
// call at least.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"
#include "probe/speedup.hpp"

namespace lockwright::probe {

/// A wait of the calling thread. One that is cancelled ends with the thread, by end_cancelled_wait().
class object_wait {
 public:
  /// kind: as in wait_object; caller: of the function that waits.
  object_wait(std::uint32_t kind, const void* object, std::uint64_t caller);

  /// given_up: at a deadline. Returns the time of the end; 0 if nothing is measured. A second call
  /// does nothing.
  std::uint64_t end(bool given_up = false);

  /// Ends what was no wait.
  void withdraw();

  /// Returns when the caller called; 0 if nothing is measured.
  [[nodiscard]] std::uint64_t called() const { return called_; }

 private:
  [[no_unique_address]] speedup::waiting waits_;
  profile_buffer* target_ = nullptr;
  thread_slot* thread_ = nullptr;
  wait_object* object_ = nullptr;
  std::uint32_t kind_;
  std::uint32_t stack_ = 0;
  bool is_alone_ = false;  ///< no other thread changes the object's counts at the same time
  std::uint64_t caller_;
  std::uint64_t called_ = 0;
  std::uint64_t begin_ = 0;  ///< after its stack was walked
};

/// Ends the wait in which a thread that ends was cancelled, if any.
void end_cancelled_wait(profile_buffer& target, thread_slot& thread);

/// Returns the kind of an object, by its number plus one.
std::uint32_t kind_of(const profile_buffer& target, std::uint64_t object);

/// Adds to the time waited for an object, by its number plus one; returns false if there is no room.
/// is_own: the table is the calling thread's.
template <unsigned numbers>
bool note_awaited(awaited_object (&table)[numbers], std::uint64_t object, std::uint64_t waited,
                  bool is_own) {
  for (awaited_object& each : table) {
    std::uint64_t present = __atomic_load_n(&each.object, __ATOMIC_RELAXED);
    if (present == 0 && __atomic_compare_exchange_n(&each.object, &present, object, false,
                                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      present = object;
    }
    if (present == object && is_own) {
      __atomic_store_n(&each.waited, each.waited + waited, __ATOMIC_RELAXED);
      return true;
    }
    if (present == object) {
      __atomic_fetch_add(&each.waited, waited, __ATOMIC_RELAXED);
      return true;
    }
  }
  return false;
}

/// Notes a call that may end waits for an object; before the call. can_walk: the caller is no signal
/// handler.
void note_wake(std::uint32_t kind, const void* object, std::uint64_t caller, bool can_walk = true);

/// Makes a call of `syscall` for a futex, and measures it if it waits.
long follow_futex(std::uint64_t caller, const long (&arguments)[6]);

}  // namespace lockwright::probe
