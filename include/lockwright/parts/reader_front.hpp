// Readers that register apart from a reader-writer lock while no writer comes, so that readers on
// different processors write different lines.
//
// Two parts: a reader-writer lock, the inner lock, and an indicator, in which a reader registers
// without the inner lock while the front is open. A writer closes the front, moves all registrations
// into the inner lock, and then takes that as any writer does.
//
//   bits of the word | meaning                                       | changed by
//   open     (0)     | readers may register in the indicator         | a reader; a writer
//   asleep   (1)     | a reader may sleep until there are no writers | that reader; the last writer
//   writers  (2-31)  | writers that wait or are inside               | writers
//
//          reader inside the inner lock            writer, inside the inner lock as a reader
//   closed -----------------------------> open ------------------> closed, indicator emptied
//
// Invariants
//   UNITS      each reader inside is one unit: a registration, or one reader of the inner lock. Units
//              are interchangeable, so an unlock removes a registration of the caller's slot if there
//              is one, and else a reader of the inner lock.
//   COUNTED    a writer is counted in the word before it asks for the inner lock, and until
//              just before it leaves that. The front opens only while none is counted, by a
//              thread that is a reader of the inner lock; so while it is open, no writer is in it.
//   MOVED      the writer that closes the front is a reader of the inner lock until the indicator
//              is empty, and adds a reader there before it removes a registration. So no writer
//              enters before, and a reader that is inside finds the inner lock read.
//   BOTH-LOOK  a reader registers and then reads the word; a writer closes the front and then reads
//              the indicator. All four are sequentially consistent, so at least one of the two
//              notices the other: the reader withdraws, or the writer moves its unit.
//   NO-TOUCH   a reader that leaves accesses the lock no more after it has removed its unit, nor a
//              writer after it has left the inner lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/rwlock.hpp"

namespace lockwright {

/// The word of a front. All-zero memory is closed, with no writers.
template <class Env>
using front_word = typename Env::template atomic<std::uint32_t>;

/// Over references to its parts, made for each call. The Indicator has
///   enter()            registers the caller; false if it cannot (sequentially consistent)
///   leave()            removes a registration of the caller's slot; false if there is none
///                      (release; acquire if there is none)
///   leave_any()        the same of any slot
///   is_entered()       true if the caller's slot has a registration
///   is_empty()         true if no slot has
///   empty(add, undo)   calls add() and removes a registration, or undo() if another thread did,
///                      until none is left (its first look at each slot: sequentially consistent)
template <class Env, class Inner, class Indicator>
class reader_front {
 public:
  reader_front(front_word<Env>& word, Inner& inner, Indicator indicator)
      : word_(word), inner_(inner), indicator_(indicator) {}

  /// True if the caller is inside as a reader.
  [[gnu::always_inline]] bool register_reader() {
    // Relaxed: a guess. The second look decides, and acquires from the thread that opened.
    if ((word_.load(std::memory_order_relaxed) & open_) == 0 || !indicator_.enter()) {
      return false;
    }
    // If the registration is gone, a writer has moved it, or a thread of the same
    // slot has left by it: then the caller's unit is in the inner lock.
    return (word_.load(std::memory_order_seq_cst) & open_) != 0 || !indicator_.leave();
  }

  /// Does nothing where no thread reads.
  [[gnu::always_inline]] void unlock_read() {
    if (!indicator_.leave()) [[unlikely]] {
      unlock_other_read();
    }
  }

  /// Called by a reader of the inner lock.
  void open() {
    std::uint32_t seen = 0;
    // Release: what the caller has acquired from the writers before.
    word_.compare_exchange_strong(seen, open_, std::memory_order_release,
                                  std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_closed() const {
    return (word_.load(std::memory_order_relaxed) & open_) == 0;
  }

  /// Counts the calling writer, and closes the front. Returns true if it emptied the indicator.
  bool begin_write() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & open_) == 0) {
        // Relaxed: the thread that closed orders the readers before the next writer.
        if (word_.compare_exchange_weak(seen, seen + one_writer_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
          return false;
        }
        continue;
      }
      if (inner_.try_lock_read(false) != admission::inside) {
        // Another writer has closed the front, or the inner lock is full of readers.
        Env::relax();
        seen = word_.load(std::memory_order_relaxed);
        continue;
      }
      const bool closed =
          word_.compare_exchange_strong(seen, (seen & ~open_) + one_writer_,
                                        std::memory_order_seq_cst, std::memory_order_relaxed);
      if (closed) {
        indicator_.empty(
            [this] {
              while (inner_.lock_read(true) != admission::inside) {
                Env::relax();
              }
            },
            [this] { inner_.unlock_read(); });
      }
      inner_.unlock_read();
      if (closed) {
        return true;
      }
    }
  }

  /// Counts the caller, and no longer if take() fails; returns its result.
  template <class Take>
  bool write(Take take) {
    begin_write();
    const bool taken = take();
    if (!taken) {
      end_write();
    }
    return taken;
  }

  /// Called by a counted writer that gives up, or is about to leave the inner lock.
  void end_write() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    std::uint32_t then = 0;
    do {
      then = seen - one_writer_;
      then = then < one_writer_ ? 0 : then;
      // Relaxed: a thread that opens the front has acquired the inner lock after this.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    if ((seen & ~then & asleep_) != 0) {
      Env::wake(word_, ~std::uint32_t{0});
    }
  }

  /// A cheap answer for a trylock: true if it would find a registered reader.
  [[nodiscard]] bool has_readers() const { return !is_closed() && !indicator_.is_empty(); }

  [[nodiscard]] bool is_read() const {
    return indicator_.is_entered() || inner_.is_read() || !indicator_.is_empty();
  }

  /// After a fork: the registrations stay. `is_held`: by the only thread, which writes.
  void forget_waiters(bool is_held) {
    inner_.forget_waiters(is_held);
    word_.store(is_held ? one_writer_ : open_, std::memory_order_relaxed);
  }

  /// Waits until no writer is counted, or until `deadline`; true in the first case.
  [[gnu::noinline]] bool await_no_writers(std::uint64_t spin_ns, std::uint64_t deadline) {
    const std::uint64_t spun = Env::now() + spin_ns;
    for (;;) {
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen < one_writer_) {
        return true;
      }
      const std::uint64_t now = Env::now();
      if (now >= deadline) {
        return false;
      }
      if (now < spun) {
        Env::relax();
      } else if ((seen & asleep_) != 0 ||
                 word_.compare_exchange_strong(seen, seen | asleep_, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        if (deadline == ~std::uint64_t{0}) {
          Env::wait(word_, seen | asleep_);
        } else {
          Env::wait_until(word_, seen | asleep_, deadline);
        }
      }
    }
  }

 private:
  /// The caller's unit is in the inner lock; if that has none, another thread has locked.
  [[gnu::noinline]] void unlock_other_read() {
    if (inner_.is_read()) {
      inner_.unlock_read();
    } else {
      indicator_.leave_any();
    }
  }

  static constexpr std::uint32_t open_ = 1;
  static constexpr std::uint32_t asleep_ = 2;
  static constexpr std::uint32_t one_writer_ = 4;

  front_word<Env>& word_;
  Inner& inner_;
  Indicator indicator_;
};

}  // namespace lockwright
