// The C library's reader-writer lock, after nptl/pthread_rwlock_common.c of the GNU C Library 2.25 and
// later: the default kind, which prefers readers, without deadlines.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright::simulated_env {

///   bits of `readers` | meaning
///   write phase (0)   | writers have the lock, or had it last
///   primary     (1)   | there is a primary writer, which is inside or the next one
///   waiting     (2)   | not used by this kind
///   count       (3-)  | readers that are inside, or wait for the read phase
///
/// `phase` is what waiters for a phase sleep on: 0 for the read phase, 1 for the write phase. The
/// thread that changes the bit changes it afterwards. `primary` is what writers sleep on until the
/// primary writer leaves: 1 while there is one. Bit 1 of both: a thread may sleep.
template <class Env>
class libc_rwlock {
 public:
  void lock_read() {
    note_owner();
    std::uint32_t seen = readers_.fetch_add(one_reader_) + one_reader_;
    if ((seen & write_phase_) == 0) {
      return;
    }
    while ((seen & (write_phase_ | primary_writer_)) == write_phase_) {
      if (readers_.compare_exchange_weak(seen, seen ^ write_phase_)) {
        announce(0);
        return;
      }
    }
    await_phase(0);
  }

  void unlock_read() {
    std::uint32_t seen = readers_.load();
    std::uint32_t then = 0;
    do {
      then = seen - one_reader_;
      if (then < one_reader_ && (then & primary_writer_) != 0) {
        then |= write_phase_;
      }
    } while (!readers_.compare_exchange_weak(seen, then));
    if ((then & write_phase_) != 0) {
      announce(1);
    }
  }

  void lock_write() {
    note_owner();
    bool shares_mark = false;
    std::uint32_t seen = readers_.fetch_or(primary_writer_);
    if ((seen & primary_writer_) != 0) {
      seen = become_primary(seen, shares_mark);
    }
    primary_.store(1 | (shares_mark ? may_sleep_ : 0), std::memory_order_relaxed);
    if ((seen & write_phase_) == 0) {
      begin_write_phase(seen);
    }
    owner_.store(Env::self(), std::memory_order_relaxed);
  }

  void unlock_write() {
    owner_.store(0, std::memory_order_relaxed);
    const bool may_sleep = (primary_.exchange(0) & may_sleep_) != 0;
    std::uint32_t seen = readers_.load();
    while (!readers_.compare_exchange_weak(
        seen, seen ^ primary_writer_ ^ (seen < one_reader_ ? 0 : write_phase_))) {
    }
    if (seen >= one_reader_) {
      announce(0);
    }
    if (may_sleep) {
      Env::wake(primary_, 1);
    }
  }

 private:
  static constexpr std::uint32_t write_phase_ = 1;
  static constexpr std::uint32_t primary_writer_ = 2;
  static constexpr std::uint32_t one_reader_ = 8;
  static constexpr std::uint32_t may_sleep_ = 2;

  /// The library reports a writer that locks again. It reads the word in each acquisition.
  void note_owner() const { static_cast<void>(owner_.load(std::memory_order_relaxed)); }

  /// Admits the waiters for the phase, which the caller has begun.
  void announce(std::uint32_t phase) {
    if ((phase_.exchange(phase) & may_sleep_) != 0) {
      Env::wake(phase_, ~std::uint32_t{0});
    }
  }

  /// A value of `phase` from before the last change of phase does not count: the word is read again
  /// after the bit.
  void await_phase(std::uint32_t phase) {
    for (bool is_begun = false;;) {
      std::uint32_t seen = phase_.load();
      while ((seen & 1) != phase) {
        if ((seen & may_sleep_) != 0 || phase_.compare_exchange_weak(seen, seen | may_sleep_)) {
          Env::wait(phase_, (1 - phase) | may_sleep_);
          seen = phase_.load();
        }
      }
      if (is_begun) {
        return;
      }
      is_begun = (readers_.load() & write_phase_) == phase;
    }
  }

  /// Returns the readers' word. `shares_mark`: others may sleep on `primary`, as the caller did.
  std::uint32_t become_primary(std::uint32_t seen, bool& shares_mark) {
    for (;;) {
      if ((seen & primary_writer_) == 0) {
        if (readers_.compare_exchange_weak(seen, seen | primary_writer_)) {
          return seen | primary_writer_;
        }
        continue;
      }
      std::uint32_t mark = primary_.load();
      const bool can_sleep = mark == (1 | may_sleep_) ||
                             (mark == 1 && primary_.compare_exchange_weak(mark, 1 | may_sleep_));
      if (can_sleep) {
        shares_mark = true;
        Env::wait(primary_, 1 | may_sleep_);
      }
      seen = readers_.load();
    }
  }

  /// After an uncontended acquisition the first attempt fails, as in the library: `seen` is the word
  /// without the caller's mark.
  void begin_write_phase(std::uint32_t seen) {
    while (seen < one_reader_ && (seen & write_phase_) == 0) {
      if (readers_.compare_exchange_weak(seen, seen | write_phase_)) {
        phase_.store(1, std::memory_order_relaxed);
        return;
      }
    }
    await_phase(1);
  }

  // 56 bytes, in the library's order.
  typename Env::template atomic<std::uint32_t> readers_{};
  typename Env::template atomic<std::uint32_t> writers_{};  // of the kinds that prefer writers
  typename Env::template atomic<std::uint32_t> phase_{};
  typename Env::template atomic<std::uint32_t> primary_{};
  typename Env::template plain<std::uint32_t> unused_[2]{};
  typename Env::template atomic<std::uint32_t> owner_{};
  typename Env::template plain<std::uint32_t> rest_[7]{};
};

}  // namespace lockwright::simulated_env
