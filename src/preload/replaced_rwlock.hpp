// A POSIX reader-writer lock of our own, inside the program's own pthread_rwlock_t.
#pragma once

#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "interpose/deadline.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/rwlock/phase_fair.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/lock_until.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::is_known;
using interpose::is_valid;
using interpose::thread_number;

/// Which locks the calling thread reads, so that it may be let in again where a
/// writer waits for it. That it says too much does no harm, too little would: a
/// lock that another thread unlocked may stay in it.
class locks_read {
 public:
  [[nodiscard]] bool may_have(const void* lock) const {
    for (std::uint32_t i = 0; i < used_; ++i) {
      if (known_[i] == lock) {
        return true;
      }
    }
    return unknown_ != 0;
  }

  void add(const void* lock) {
    if (used_ < most_) {
      known_[used_++] = lock;
    } else {
      ++unknown_;
    }
  }

  void remove(const void* lock) {
    for (std::uint32_t i = used_; i != 0; --i) {
      if (known_[i - 1] == lock) {
        known_[i - 1] = known_[--used_];
        return;
      }
    }
    if (unknown_ != 0) {
      --unknown_;
    }
  }

 private:
  // More than programs nest; what is beyond is counted.
  static constexpr std::uint32_t most_ = 8;

  std::uint32_t used_ = 0;
  std::uint32_t unknown_ = 0;
  const void* known_[most_]{};
};

inline constinit thread_local locks_read read_by_caller{};

/// Any lock in the place of a reader-writer lock: readers exclude each other too.
template <class L>
class exclusive_core {
 public:
  static constexpr bool shared = false;

  int read(bool) { return write(); }
  int try_read(bool) { return try_write(); }
  int read_until(bool, deadline_clock clock, const timespec& deadline) {
    return write_until(clock, deadline);
  }
  int write() {
    lock_.lock();
    return 0;
  }
  int try_write() { return lock_.try_lock() ? 0 : EBUSY; }
  int write_until(deadline_clock clock, const timespec& deadline) {
    return lock_.try_lock() || lock_until(lock_, clock, deadline) ? 0 : ETIMEDOUT;
  }
  void leave_write(bool) { lock_.unlock(); }

  /// See replaced_mutex::adopt().
  void forget_waiters(bool is_held) {
    lock_.~L();
    ::new (&lock_) L{};
    if (is_held) {
      lock_.lock();
    }
  }

 private:
  alignas(8) L lock_{};
};

class phase_fair_core {
 public:
  static constexpr bool shared = true;

  int read(bool passes) { return error_of(lock_.lock_read(passes), EBUSY); }
  int try_read(bool passes) { return error_of(lock_.try_lock_read(passes), EBUSY); }
  int read_until(bool passes, deadline_clock clock, const timespec& deadline) {
    admission last = lock_.try_lock_read(passes);
    if (last == admission::refused) {
      attempt_until(clock, deadline, [&](std::uint64_t until) {
        return (last = lock_.lock_read(passes, until)) != admission::refused;
      });
    }
    return error_of(last, ETIMEDOUT);
  }
  int write() {
    lock_.lock_write();
    return 0;
  }
  int try_write() { return lock_.try_lock_write() ? 0 : EBUSY; }
  int write_until(deadline_clock clock, const timespec& deadline) {
    return lock_.try_lock_write() || attempt_until(clock, deadline,
                                                   [&](std::uint64_t until) {
                                                     return lock_.try_lock_write_until(until);
                                                   })
               ? 0
               : ETIMEDOUT;
  }
  [[nodiscard]] bool is_read() const { return lock_.is_read(); }
  [[nodiscard]] bool is_written() const { return lock_.is_written(); }
  void leave_read() { lock_.unlock_read(); }
  void leave_write(bool writers_first) { lock_.unlock_write(writers_first); }
  void forget_waiters(bool is_held) { lock_.forget_waiters(is_held); }

 private:
  static int error_of(admission what, int refusal) {
    return what == admission::inside ? 0 : what == admission::refused ? refusal : EAGAIN;
  }

  phase_fair<environment> lock_;
};

/// The layout, over the C library's:
///
///   bytes | meaning                                                  | written by
///   0-23  | the lock                                                 | its algorithm
///   24-27 | the kernel's number of the writing thread, where         | the writer
///         | debuggers look for it                                    |
///   28-31 | zero: not shared between processes                       | -
///   32-35 | serial of the only holder: the writer, or the one        | that holder
///         | reader where readers exclude each other; 0 for no thread |
///   36-39 | how often that reader locked; 0 if it is a writer        | the same
///   48-51 | kind; bits 31-16: generation, see fork.hpp               | initialisation, adopt()
///
/// All zero but for the kind, as the static initialisers leave it, is an
/// unlocked one.
///
/// Under the writer-preferring kind that allows no recursive reads, writers come
/// before waiting readers, and no reader passes a waiting writer. The other
/// kinds are one: readers and writers alternate, and recursive readers pass.
template <class Core>
class replaced_rwlock {
 public:
  /// Left to the C library, with everything in it.
  static bool is_shared(const pthread_rwlock_t* lock) {
    return __atomic_load_n(&lock->__data.__shared, __ATOMIC_RELAXED) != 0;
  }

  static replaced_rwlock& of(pthread_rwlock_t* lock) {
    auto& self = *reinterpret_cast<replaced_rwlock*>(lock);
    // Acquire pairs with the release in adopt(): the lock that it left is seen.
    if (((self.kind_.load(std::memory_order_acquire) ^ generation) & generation_bits) != 0)
        [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  explicit replaced_rwlock(kind_word kind) : kind_(kind | generation) { check_layout(); }

  int destroy() {
    if (!is_held()) {
      core_.~Core();
      ::new (&core_) Core{};
    }
    return 0;
  }

  int rdlock() {
    return read(EDEADLK, [](Core& core, bool passes) { return core.read(passes); });
  }
  int tryrdlock() {
    return read(EBUSY, [](Core& core, bool passes) { return core.try_read(passes); });
  }
  int clockrdlock(deadline_clock clock, const timespec* deadline) {
    if (!is_known(clock.id) || !is_valid(*deadline)) {
      return EINVAL;
    }
    return read(EDEADLK, [clock, deadline](Core& core, bool passes) {
      return core.read_until(passes, clock, *deadline);
    });
  }

  int wrlock() {
    // Its own reader too would wait for ever, where that is known.
    return is_alone() ? EDEADLK : entered(core_.write());
  }
  int trywrlock() { return entered(core_.try_write()); }
  int clockwrlock(deadline_clock clock, const timespec* deadline) {
    if (!is_known(clock.id) || !is_valid(*deadline)) {
      return EINVAL;
    }
    return is_alone() && times_ == 0 ? EDEADLK : entered(core_.write_until(clock, *deadline));
  }

  int unlock() {
    if constexpr (Core::shared) {
      if (!core_.is_written()) {
        if (core_.is_read()) {
          read_by_caller.remove(this);
          core_.leave_read();
        }
        return 0;
      }
    } else {
      if (serial_.load(std::memory_order_relaxed) == 0) {
        return 0;  // undefined, and harmless
      }
      if (times_ > 1) {
        --times_;
        return 0;
      }
      times_ = 0;
    }
    const bool writers_first = forbids_recursion();
    owner_.store(0, std::memory_order_relaxed);
    serial_.store(0, std::memory_order_relaxed);
    core_.leave_write(writers_first);
    return 0;
  }

 private:
  [[nodiscard]] bool forbids_recursion() const {
    return (kind_.load(std::memory_order_relaxed) & ~generation_bits) ==
           PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  }

  [[nodiscard]] bool is_held() const {
    if constexpr (Core::shared) {
      return core_.is_read() || core_.is_written();
    } else {
      return serial_.load(std::memory_order_relaxed) != 0;
    }
  }

  /// Whether the caller is alone inside. Relaxed: only itself could have stored its own serial.
  [[nodiscard]] bool is_alone() const {
    return serial_.load(std::memory_order_relaxed) == native_env::serial();
  }

  template <class Enter>
  int read(int to_the_writer, Enter enter) {
    if (is_alone()) {
      return times_ == 0 ? to_the_writer : read_again();
    }
    const bool passes = Core::shared && !forbids_recursion() && read_by_caller.may_have(this);
    if (const int refusal = enter(core_, passes); refusal != 0) {
      return refusal;
    }
    if constexpr (Core::shared) {
      read_by_caller.add(this);
    } else {
      serial_.store(native_env::serial(), std::memory_order_relaxed);
      times_ = 1;
    }
    count(event::read_locked);
    return 0;
  }

  int read_again() {
    if (times_ == ~std::uint32_t{0}) {
      return EAGAIN;
    }
    ++times_;
    count(event::read_locked);
    return 0;
  }

  /// For a writer that got `result` from the lock.
  int entered(int result) {
    if (result == 0) {
      owner_.store(thread_number(), std::memory_order_relaxed);
      serial_.store(native_env::serial(), std::memory_order_relaxed);
      count(event::write_locked);
    }
    return result;
  }

  /// The first touch after a fork: drops the waiters of the parent. What was held
  /// stays held, by the thread that forked or for ever; see replaced_mutex::adopt().
  [[gnu::noinline]] void adopt() {
    native_env::register_caller();  // may allocate, thus lock, thus come here
    adopting.lock();
    const kind_word kind = kind_.load(std::memory_order_relaxed);
    if (((kind ^ generation) & generation_bits) != 0) {
      core_.forget_waiters(serial_.load(std::memory_order_relaxed) != 0);
      if (owner_.load(std::memory_order_relaxed) == number_before_fork && number_before_fork != 0) {
        owner_.store(number_after_fork, std::memory_order_relaxed);
      }
      kind_.store((kind & ~generation_bits) | generation, std::memory_order_release);
    }
    adopting.unlock();
  }

  union {
    Core core_{};
    unsigned char room_[24];
  };
  std::atomic<std::uint32_t> owner_{0};
  [[maybe_unused]] std::uint32_t shared_ = 0;
  std::atomic<std::uint32_t> serial_{0};
  std::uint32_t times_ = 0;
  [[maybe_unused]] std::uint64_t unused_ = 0;
  std::atomic<kind_word> kind_;

  static constexpr void check_layout() {
    static_assert(sizeof(replaced_rwlock) <= sizeof(pthread_rwlock_t));
    static_assert(offsetof(replaced_rwlock, owner_) ==
                  offsetof(pthread_rwlock_t, __data.__cur_writer));
    static_assert(offsetof(replaced_rwlock, shared_) ==
                  offsetof(pthread_rwlock_t, __data.__shared));
    static_assert(offsetof(replaced_rwlock, kind_) == offsetof(pthread_rwlock_t, __data.__flags));
  }
};

}  // namespace lockwright::preload
