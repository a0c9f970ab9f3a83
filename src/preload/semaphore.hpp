// A semaphore that replaces the C library's, where the user selects it.
#pragma once

#include <limits.h>
#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/parts/three_state.hpp"
#include "preload/append.hpp"
#include "preload/basic_semaphore.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/waiter_types.hpp"

namespace lockwright::preload {

/// Blocks all signals of the calling thread, those of the C library included, during its lifetime.
class signals_blocked {
 public:
  signals_blocked() { change(SIG_SETMASK, ~std::uint64_t{0}, &before_); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { change(SIG_SETMASK, before_, nullptr); }

 private:
  static void change(int how, std::uint64_t set, std::uint64_t* before) {
    native_env::system_call(SYS_rt_sigprocmask, how, native_env::argument(&set),
                            native_env::argument(before), sizeof set);
  }

  std::uint64_t before_ = 0;
};

/// The layout, over the C library's sem_t:
///
///   bytes | meaning                                     | written by
///   0-3   | the count                                   | post, wait
///   4-7   | how many threads are in the queue           | under the guard
///   8-11  | guard of the queue, see three_state.hpp; the | -
///         | C library has shared_mark here, which the   |
///         | guard never equals                          |
///   12-15 | generation, see fork.hpp                    | initialisation, adopt()
///   16-31 | the waiters, see waiter_queue.hpp           | under the guard
///
/// Zeroed memory is a semaphore of count 0 without waiters.
class semaphore : public basic_semaphore<environment, pthread_mutex_t, signals_blocked> {
  using base = basic_semaphore<environment, pthread_mutex_t, signals_blocked>;

 public:
  static semaphore& of(sem_t* sem) {
    auto& self = *reinterpret_cast<semaphore*>(sem);
    // Acquire pairs with the release in adopt(), which makes the empty queue visible.
    if (self.generation_.load(std::memory_order_acquire) != generation) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// Returns true for a process-shared or named semaphore, which is the C library's.
  static bool is_shared(const sem_t* sem) {
    return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(sem) + 2, __ATOMIC_RELAXED) ==
           shared_mark;
  }

  explicit semaphore(unsigned count) : base(count, generation) {}

  /// Takes a unit if there is one, else enqueues the waiter.
  bool take_or_enqueue(waiter& self) {
    return base::take_or_enqueue(self, append_to_semaphore.append());
  }

 private:
  // Set by the C library's sem_init and sem_open.
  static constexpr std::uint32_t shared_mark = 128;

  /// Empties the queue at the first use after a fork: its waiters are the parent's.
  [[gnu::noinline]] void adopt() {
    const signals_blocked all;
    adopting_semaphore.lock();
    if (generation_.load(std::memory_order_relaxed) != generation) {
      ::new (&guard_) three_state<environment>();
      ::new (&queue_) waiter_queue();
      word_.store(count_of(word_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
      generation_.store(generation, std::memory_order_release);
    }
    adopting_semaphore.unlock();
  }

  static constexpr void check_layout() {
    static_assert(sizeof(semaphore) == 32 && sizeof(semaphore) <= sizeof(sem_t));
    static_assert(offsetof(semaphore, guard_) == 8 && sizeof(three_state<environment>) == 4);
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  }
};

}  // namespace lockwright::preload
