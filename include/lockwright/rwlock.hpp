// The interface of every reader-writer lock, and its traits.
#pragma once

#include <concepts>
#include <cstdint>

#include "lockwright/lock.hpp"

namespace lockwright {

/// The result of an attempt to enter as a reader.
enum class admission : std::uint8_t {
  inside,
  refused,   ///< it would have had to wait, or to wait longer
  too_many,  ///< more readers than can be counted
};

/// The order of admission where readers and writers wait.
enum class preference : std::uint8_t {
  readers,      ///< a reader is not held up by a waiting writer
  writers,      ///< no reader that comes later passes a waiting writer
  fifo,         ///< in order of arrival, consecutive readers together
  alternating,  ///< phases of readers and of writers alternate
  none,         ///< no order is promised
};

/// The declared properties of a reader-writer lock: the static member `traits` of each, from which
/// the build writes `rwlocks.json`.
struct rwlock_traits {
  lockwright::preference preference;
  lockwright::waiting waiting;
  /// Readers of different processors write different lines, so that their throughput grows with
  /// their number.
  bool distributed_readers = false;
  bool numa_aware = false;       ///< behaviour depends on the caller's NUMA node
  std::uint32_t node_bytes = 0;  ///< bytes of queue node per waiting thread
  const char* suits = "";        ///< the load that it is for, in a few words
  const char* patents = "";      ///< related patents; see docs/patents.md
  const char* reference;         ///< the publication of the algorithm
  const char* summary;           ///< a description in two sentences

  [[nodiscard]] constexpr bool parks() const {
    return waiting == lockwright::waiting::spin_then_park || waiting == lockwright::waiting::park;
  }
};

/// A reader-writer lock. All-zero memory is an unlocked lock, which is what the default constructor
/// makes.
///
/// `passes`: the caller holds the lock for reading already, and is admitted even if writers wait, as
/// otherwise it would wait for itself. `deadline`: nanoseconds of Env::now(). `writers_first`: a
/// waiting writer comes before the waiting readers, whatever the lock's own preference; a lock that
/// cannot do so ignores it.
template <class L>
concept RwLock = std::default_initializable<L> &&
                 requires(L lock, const L& seen, bool flag, std::uint64_t deadline) {
                   { lock.lock_read(flag) } -> std::same_as<admission>;
                   { lock.lock_read(flag, deadline) } -> std::same_as<admission>;
                   { lock.try_lock_read(flag) } -> std::same_as<admission>;
                   { lock.unlock_read() } -> std::same_as<void>;
                   { lock.lock_write() } -> std::same_as<arrival>;
                   { lock.try_lock_write() } -> std::same_as<bool>;
                   { lock.try_lock_write_until(deadline) } -> std::same_as<bool>;
                   { lock.unlock_write(flag) } -> std::same_as<void>;
                   // For a holder: true if it is a writer.
                   { seen.is_written() } -> std::same_as<bool>;
                   // True if any thread reads.
                   { seen.is_read() } -> std::same_as<bool>;
                   // Called by the only thread of the child of a fork: the waiters are gone, and so
                   // is the writer, unless the flag says that it holds the lock.
                   { lock.forget_waiters(flag) } -> std::same_as<void>;
                   { L::traits.preference } -> std::convertible_to<preference>;
                 };

}  // namespace lockwright
