// Reader-writer locks with one fault each, which lockwright-simulate loads and has to find.
#pragma once

#include <atomic>
#include <cstdint>

#include "rwlock_entry.hpp"

namespace lockwright::broken {

/// A counting reader-writer lock whose waiters poll. The faults replace its functions.
///   word | 1 for a writer, 2 for each reader
template <class Env>
class counted_rw {
 public:
  admission lock_read(bool) {
    for (;;) {
      std::uint32_t seen = word_.load(std::memory_order_relaxed) & ~writer_;
      if (word_.compare_exchange_strong(seen, seen + reader_)) {
        return admission::inside;
      }
      Env::relax();
    }
  }
  void unlock_read() { word_.fetch_sub(reader_); }

  void lock_write() {
    std::uint32_t free = 0;
    while (!word_.compare_exchange_strong(free, writer_)) {
      free = 0;
      Env::relax();
    }
  }
  void unlock_write(bool) { word_.store(0); }

 protected:
  static constexpr std::uint32_t writer_ = 1;
  static constexpr std::uint32_t reader_ = 2;

  typename Env::template atomic<std::uint32_t> word_{};
};

/// A reader looks for a writer and counts itself in two steps.
template <class Env>
class rw_counts_late : public counted_rw<Env> {
 public:
  admission lock_read(bool) {
    while ((this->word_.load() & this->writer_) != 0) {
      Env::relax();
    }
    this->word_.fetch_add(this->reader_);
    return admission::inside;
  }
  void unlock_write(bool) { this->word_.fetch_sub(this->writer_); }
};

/// A writer waits for other writers, but not for readers.
template <class Env>
class rw_passes_readers : public counted_rw<Env> {
 public:
  void lock_write() {
    while ((this->word_.fetch_or(this->writer_) & this->writer_) != 0) {
      Env::relax();
    }
  }
  void unlock_write(bool) { this->word_.fetch_sub(this->writer_); }
};

/// A writer that leaves does not wake the readers that sleep.
template <class Env>
class rw_forgets_sleepers : public counted_rw<Env> {
 public:
  admission lock_read(bool) {
    for (;;) {
      std::uint32_t seen = this->word_.load();
      if (seen == this->writer_) {
        Env::wait(this->word_, seen);
      } else if (this->word_.compare_exchange_strong(seen, seen + this->reader_)) {
        return admission::inside;
      }
    }
  }
};

/// It gives a reader up.
template <class Env>
class rw_refuses : public counted_rw<Env> {
 public:
  admission lock_read(bool) {
    std::uint32_t free = 0;
    return this->word_.compare_exchange_strong(free, this->reader_) ? admission::inside
                                                                    : admission::refused;
  }
};

/// Without fault, so that the tests know that the others fail for theirs.
template <class Env>
class rw_sound : public counted_rw<Env> {};

}  // namespace lockwright::broken

extern "C" {
extern const lockwright::simulate::rwlock_entry lockwright_simulated_rwlock;
const lockwright::simulate::rwlock_entry lockwright_simulated_rwlock =
    lockwright::simulate::rwlock_entry_of<
        lockwright::broken::LOCKWRIGHT_FAULT<lockwright::simulated>>("broken");
}
