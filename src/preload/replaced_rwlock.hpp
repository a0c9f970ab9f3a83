// A POSIX reader-writer lock whose algorithm is not the C library's, inside the program's own
// pthread_rwlock_t.
#pragma once

#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "interpose/deadline.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/rwlock.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/lock_until.hpp"
#include "preload/reads_of_thread.hpp"
#include "preload/rwlock_kind.hpp"

/// Functions that are called last, with a jump: gcc 14 and later make that a call, and a frame for it,
/// where they know that the result is 0.
#if defined(__clang__)
#define LOCKWRIGHT_APART [[gnu::noinline]]
#else
#define LOCKWRIGHT_APART [[gnu::noipa]]
#endif

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::is_known;
using interpose::is_valid;
using interpose::thread_number;

/// A mutex algorithm in place of a reader-writer lock: readers exclude each other too.
template <class L>
class exclusive_core {
 public:
  static constexpr bool shared = false;
  static constexpr bool distributed = false;
  /// write() is try_write(), and waits where that fails.
  static constexpr bool tries_first = TwoStepLock<L>;
  static constexpr bool leaves_at_once = false;
  static constexpr bool has_table = false;

  int read(bool) { return write(false); }
  int try_read(bool) { return try_write(); }
  int read_until(bool, deadline_clock clock, const timespec& deadline) {
    return write_until(false, clock, deadline);
  }
  bool write_at_once() { return lock_.try_lock(); }
  int write(bool) {
    lock_.lock();
    return 0;
  }
  int try_write() { return lock_.try_lock() ? 0 : EBUSY; }
  int write_until(bool, deadline_clock clock, const timespec& deadline) {
    return lock_.try_lock() || lock_until(lock_, queue_, clock, deadline) ? 0 : ETIMEDOUT;
  }
  void unlock_write(bool) {
    if constexpr (!is_abortable<L>) {
      if (!queue_.empty()) [[unlikely]] {
        unlock_and_grant();
        return;
      }
    }
    lock_.unlock();
  }

  /// See replaced_mutex::adopt().
  void forget_waiters(bool is_held) {
    lock_.~L();
    ::new (&lock_) L{};
    if (is_held) {
      lock_.lock();
    }
  }

 private:
  [[gnu::noinline]] void unlock_and_grant() {
    queue_.grant_first_after([] {}, [this] { lock_.unlock(); });
  }

  alignas(8) L lock_{};
  // Of threads with a deadline only. The C library's lock leaves no room for it.
  struct none {};
  [[no_unique_address]] std::conditional_t<is_abortable<L>, none, signalled_queue> queue_{};
};

/// A reader-writer lock in place of the C library's.
template <RwLock L>
class shared_core {
 public:
  static constexpr bool shared = true;
  static constexpr bool distributed = L::traits.distributed_readers;
  static constexpr bool tries_first =  ///< as of exclusive_core
      !distributed || requires(L lock) { lock.lock_write_at_once(); };

  /// Returns true if the caller is inside, which did not wait; read() decides for the others.
  [[gnu::always_inline]] bool read_at_once() {
    if constexpr (requires { lock_.lock_read_at_once(); }) {
      return lock_.lock_read_at_once();
    } else {
      return lock_.try_lock_read(false) == admission::inside;
    }
  }
  int read(bool passes) { return error_for(lock_.lock_read(passes), EBUSY); }
  int try_read(bool passes) { return error_for(lock_.try_lock_read(passes), EBUSY); }
  int read_until(bool passes, deadline_clock clock, const timespec& deadline) {
    admission outcome = lock_.try_lock_read(passes);
    if (outcome == admission::refused) {
      attempt_until(clock, deadline, [&](std::uint64_t until) {
        return (outcome = lock_.lock_read(passes, until)) != admission::refused;
      });
    }
    return error_for(outcome, ETIMEDOUT);
  }
  /// The same for a writer, where `tries_first`.
  [[gnu::always_inline]] bool write_at_once() {
    if constexpr (requires { lock_.lock_write_at_once(); }) {
      return lock_.lock_write_at_once();
    } else {
      return lock_.try_lock_write();
    }
  }
  /// first: this writer comes before readers, where the lock does not decide that alone.
  int write(bool first) {
    if constexpr (requires { lock_.lock_write(first); }) {
      lock_.lock_write(first);
    } else {
      lock_.lock_write();
    }
    return 0;
  }
  int try_write() { return lock_.try_lock_write() ? 0 : EBUSY; }
  int write_until(bool first, deadline_clock clock, const timespec& deadline) {
    const auto enter = [&](std::uint64_t until) {
      if constexpr (requires { lock_.try_lock_write_until(until, first); }) {
        return lock_.try_lock_write_until(until, first);
      } else {
        return lock_.try_lock_write_until(until);
      }
    };
    return lock_.try_lock_write() || attempt_until(clock, deadline, enter) ? 0 : ETIMEDOUT;
  }
  [[nodiscard]] bool is_read() const { return lock_.is_read(); }
  /// The lock has look() and what belongs to it, see adaptive_rw.
  static constexpr bool leaves_at_once = requires(L lock) { lock.look(); };
  static constexpr bool has_table = requires(L lock) { lock.lock_read_in_table(); };
  L& lock() { return lock_; }
  /// The caller leaves. Returns true if it then has to wake others, by wake_after_read().
  [[gnu::always_inline]] bool leave_read() {
    if constexpr (requires { lock_.leave_read(); }) {
      return lock_.leave_read();
    } else {
      lock_.unlock_read();
      return false;
    }
  }
  void wake_after_read() {
    if constexpr (requires { lock_.wake_after_read(); }) {
      lock_.wake_after_read();
    }
  }
  void unlock_write(bool writers_first) { lock_.unlock_write(writers_first); }
  void forget_waiters(bool is_held) { lock_.forget_waiters(is_held); }

 private:
  static int error_for(admission outcome, int refusal) {
    return outcome == admission::inside ? 0 : outcome == admission::refused ? refusal : EAGAIN;
  }

  L lock_;
};

/// The layout, over the C library's:
///
///   bytes | meaning                                                  | written by
///   0-23  | the lock                                                 | its algorithm
///   24-27 | the kernel's number of the only holder, where debuggers  | that holder
///         | look for the writer: that, or the one reader where       |
///         | readers exclude each other; 0 for none                   |
///   28-31 | zero: not shared between processes                       | -
///   32-35 | how often that reader locked; 0 if it is a writer        | the same
///   48-51 | kind; see rwlock_kind.hpp                                | initialisation, first use,
///         |                                                          | adopt()
///
/// A lock that is zero but for the kind, as the static initialisers leave it, is unlocked.
///
/// A reader that enters or leaves without contention needs the kind word, the lock and a count of its
/// thread, and the holder's number where readers are distributed. All else is in functions of their own.
///
/// Under the writer-preferring kind that allows no recursive reads, writers come before waiting readers,
/// and no reader passes a waiting writer, where the lock allows it. The other kinds are treated alike,
/// and recursive readers pass.
template <class Core>
class replaced_rwlock {
 public:
  /// Returns the lock, for a kind word of this process's generation.
  static replaced_rwlock& of(pthread_rwlock_t* lock) {
    return *reinterpret_cast<replaced_rwlock*>(lock);
  }

  /// Returns the lock, repaired if this is its first use after a fork.
  static replaced_rwlock& adopted(pthread_rwlock_t* lock) {
    auto& self = of(lock);
    // Acquire pairs with the release in adopt(), which makes the repaired lock visible.
    if (((self.kind_.load(std::memory_order_acquire) ^ generation) & generation_bits) != 0)
        [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// `kind`: with the number of the algorithm.
  explicit replaced_rwlock(kind_word kind) : kind_(kind | generation) { check_layout(); }

  int destroy() {
    if (!is_held()) {
      core_.~Core();
      ::new (&core_) Core{};
    }
    return 0;
  }

  [[gnu::always_inline]] int rdlock() {
    if (reads_at_once()) {
      return 0;
    }
    if constexpr (Core::has_table) {
      return rdlock_in_table();
    } else {
      return rdlock_slowly();
    }
  }
  [[gnu::always_inline]] int tryrdlock() { return reads_at_once() ? 0 : tryrdlock_slowly(); }
  int clockrdlock(deadline_clock clock, const timespec* deadline) {
    if (!is_known(clock.id) || !is_valid(*deadline)) {
      return EINVAL;
    }
    return read(EDEADLK, [clock, deadline](Core& core, bool passes) {
      return core.read_until(passes, clock, *deadline);
    });
  }

  [[gnu::always_inline]] int wrlock() { return writes_at_once() ? 0 : wrlock_slowly(); }
  [[gnu::always_inline]] int trywrlock() { return writes_at_once() ? 0 : trywrlock_slowly(); }
  int clockwrlock(deadline_clock clock, const timespec* deadline) {
    if (!is_known(clock.id) || !is_valid(*deadline)) {
      return EINVAL;
    }
    return is_only_holder() && reads_ == 0
               ? EDEADLK
               : record_writer(core_.write_until(forbids_recursion(), clock, *deadline));
  }

  [[gnu::always_inline]] int unlock() {
    if constexpr (Core::leaves_at_once) {
      auto& lock = core_.lock();
      const auto seen = lock.look();
      if (lock.is_left_at_once(seen)) [[likely]] {
        if (!lock.is_left_by_reader(seen)) {
          owner_.store(0, std::memory_order_relaxed);
          return lock.leave_write_at_once(seen) ? 0 : unlock_written();
        }
        auto reads = reads_of_caller.loaded(this);
        if (lock.leave_read_at_once(seen)) [[likely]] {
          reads.remove();
          return 0;
        }
      }
      return unlock_slowly();
    } else if constexpr (Core::shared) {
      if (is_held_by_readers()) [[likely]] {
        // Before the caller leaves: so no register is needed across it.
        reads_of_caller.remove(this);
        return core_.leave_read() ? wake_after_read() : 0;
      }
    }
    return unlock_only_holder();
  }

 private:
  [[nodiscard]] bool forbids_recursion() const {
    return kind_of(kind_.load(std::memory_order_relaxed)) ==
           PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  }

  [[nodiscard]] bool is_held() const {
    if constexpr (Core::shared) {
      return core_.is_read() || owner_.load(std::memory_order_relaxed) != 0;
    } else {
      return owner_.load(std::memory_order_relaxed) != 0;
    }
  }

  /// For a holder: true if it is a reader.
  [[nodiscard, gnu::always_inline]] bool is_held_by_readers() const {
    if constexpr (Core::distributed) {
      // Cheaper, as a writer inside has stored its number. unlock_read() accepts a free lock.
      return owner_.load(std::memory_order_relaxed) == 0;
    } else {
      return core_.is_read();
    }
  }

  /// Returns true if the caller is the only holder. Relaxed: only it could have stored its number.
  [[nodiscard]] bool is_only_holder() const {
    return owner_.load(std::memory_order_relaxed) == thread_number();
  }

  /// Returns true if the caller is inside as a reader. A lock that it writes refuses it.
  [[gnu::always_inline]] bool reads_at_once() {
    if constexpr (Core::shared) {
      auto reads = reads_of_caller.loaded(this);
      if (core_.read_at_once()) [[likely]] {
        reads.add();
        count(event::read_locked);
        return true;
      }
    } else if constexpr (Core::tries_first) {
      if (enters_at_once()) [[likely]] {
        reads_ = 1;
        count(event::read_locked);
        return true;
      }
    }
    return false;
  }

  /// The same for a writer.
  [[gnu::always_inline]] bool writes_at_once() {
    if constexpr (Core::tries_first) {
      if (enters_at_once()) {
        count(event::write_locked);
        return true;
      }
    }
    return false;
  }

  /// Returns true if the caller is inside as the only holder. False, too, where it is not known yet
  /// how to find its number: no call is made, for which registers would have to be saved.
  [[gnu::always_inline]] bool enters_at_once() {
    const std::ptrdiff_t offset = interpose::number_offset.load(std::memory_order_relaxed);
    if (!interpose::is_number_offset(offset)) [[unlikely]] {
      return false;
    }
    // Before the atomic instruction, for which later loads wait.
    const std::uint32_t number = interpose::number_at(offset);
    if (!core_.write_at_once()) {
      return false;
    }
    owner_.store(number, std::memory_order_relaxed);
    return true;
  }

  /// The lock may be destroyed already: only its address is used.
  LOCKWRIGHT_APART int wake_after_read() {
    core_.wake_after_read();
    return 0;
  }

  LOCKWRIGHT_APART int unlock_slowly() {
    if (!is_held_by_readers()) {
      return unlock_only_holder();
    }
    reads_of_caller.remove(this);
    core_.lock().leave_read_slowly();
    return 0;
  }

  LOCKWRIGHT_APART int unlock_written() {
    core_.unlock_write(forbids_recursion());
    return 0;
  }

  LOCKWRIGHT_APART int unlock_only_holder() {
    if (owner_.load(std::memory_order_relaxed) == 0) {
      return 0;  // undefined, and harmless in the C library
    }
    if constexpr (!Core::shared) {
      if (reads_ > 1) {
        --reads_;
        return 0;
      }
      reads_ = 0;
    }
    const bool writers_first = forbids_recursion();
    owner_.store(0, std::memory_order_relaxed);
    core_.unlock_write(writers_first);
    return 0;
  }

  /// Apart from rdlock_slowly(), which saves registers.
  [[gnu::noinline]] int rdlock_in_table() {
    if (core_.lock().lock_read_in_table()) {
      reads_of_caller.add(this);
      count(event::read_locked);
      return 0;
    }
    return rdlock_slowly();
  }

  [[gnu::noinline]] int rdlock_slowly() {
    return read(EDEADLK, [](Core& core, bool passes) { return core.read(passes); });
  }

  [[gnu::noinline]] int tryrdlock_slowly() {
    return read(EBUSY, [](Core& core, bool passes) { return core.try_read(passes); });
  }

  [[gnu::noinline]] int wrlock_slowly() {
    // The only reader would wait for itself forever.
    return is_only_holder() ? EDEADLK : record_writer(core_.write(forbids_recursion()));
  }

  [[gnu::noinline]] int trywrlock_slowly() { return record_writer(core_.try_write()); }

  template <class Enter>
  int read(int writer_error, Enter enter) {
    if (is_only_holder()) {
      return reads_ == 0 ? writer_error : read_again();
    }
    const bool passes = Core::shared && !forbids_recursion() && reads_of_caller.may_contain(this);
    if (const int refusal = enter(core_, passes); refusal != 0) {
      return refusal;
    }
    if constexpr (Core::shared) {
      reads_of_caller.add(this);
    } else {
      owner_.store(thread_number(), std::memory_order_relaxed);
      reads_ = 1;
    }
    count(event::read_locked);
    return 0;
  }

  int read_again() {
    if (reads_ == ~std::uint32_t{0}) {
      return EAGAIN;
    }
    ++reads_;
    count(event::read_locked);
    return 0;
  }

  /// Records the writer if `result` is 0. Returns `result`.
  int record_writer(int result) {
    if (result == 0) {
      owner_.store(thread_number(), std::memory_order_relaxed);
      count(event::write_locked);
    }
    return result;
  }

  /// Repairs the lock at its first use after a fork: drops the waiters of the parent. A held lock
  /// stays held, by the thread that forked or forever; see replaced_mutex::adopt().
  [[gnu::noinline]] void adopt() {
    native_env::register_caller();  // may allocate, thus lock, thus recurse
    adopting.lock();
    const kind_word kind = kind_.load(std::memory_order_relaxed);
    if (((kind ^ generation) & generation_bits) != 0) {
      core_.forget_waiters(owner_.load(std::memory_order_relaxed) != 0);
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
  std::uint32_t reads_ = 0;
  [[maybe_unused]] std::uint32_t unused_[3]{};
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
