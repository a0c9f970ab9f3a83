// The sections of mutexes by the clocks of their holders, in experiments on the running program: see
// speedup.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "probe/clock.hpp"

namespace lockwright::probe::speedup {

/// Returns what lies between two levels, 0 if `to` is not above.
inline std::uint64_t above(std::uint64_t from, std::uint64_t to) {
  const auto difference = static_cast<std::int64_t>(to - from);
  return difference > 0 ? static_cast<std::uint64_t>(difference) : 0;
}

/// A call that may have ended waits for an object.
struct wake {
  std::atomic<std::uint64_t> level;  ///< of the thread that made it
  std::atomic<std::uint64_t> at;     ///< ticks; 0 for none

  void set(std::uint64_t by_level, std::uint64_t now) {
    level.store(by_level, std::memory_order_relaxed);
    at.store(now, std::memory_order_release);
  }
};

/// How much of the time in which a mutex was free later sections may have been in, in ticks: a thread that
/// comes before another one by its clock does so by less.
inline std::uint64_t most_unused() { return 1'000 * ticks_per_microsecond(); }

/// The sections of a mutex in the present window, in ticks by the clocks of its holders. Only these write.
struct usage {
  wake release;                       ///< the last one
  std::atomic<std::uint64_t> window;  ///< its number
  std::atomic<std::uint64_t> first;   ///< when the first one began, or later, by pauses
  std::atomic<std::uint64_t> begin;   ///< when the last one did
  std::atomic<std::uint64_t> length;  ///< of the last one
  std::atomic<std::uint64_t> all;     ///< the lengths of all

  void enter(std::uint64_t number, std::uint64_t now) {
    if (window.load(std::memory_order_relaxed) != number) {
      window.store(number, std::memory_order_relaxed);
      first.store(now, std::memory_order_relaxed);
      all.store(0, std::memory_order_relaxed);
    }
    begin.store(now, std::memory_order_relaxed);
    // Time without sections is of no use for later ones.
    const std::uint64_t done = all.load(std::memory_order_relaxed);
    const std::uint64_t unused = above(first.load(std::memory_order_relaxed) + done, now);
    if (unused > most_unused()) {
      first.store(now - most_unused() - done, std::memory_order_relaxed);
    }
  }

  /// is_together: with sections before, the last one of which may have ended later.
  void leave(bool is_together, std::uint64_t by_level, std::uint64_t now) {
    const std::uint64_t end = now - by_level;
    const std::uint64_t last =
        release.at.load(std::memory_order_relaxed) - release.level.load(std::memory_order_relaxed);
    if (is_together && above(last, end) == 0) {
      return;
    }
    const std::uint64_t from = begin.load(std::memory_order_relaxed);
    const std::uint64_t alone = is_together && above(from, last) != 0 ? last : from;
    length.store(above(from, end), std::memory_order_relaxed);
    all.store(all.load(std::memory_order_relaxed) + above(alone, end), std::memory_order_relaxed);
    release.set(by_level, now);
  }

  /// Returns for how long a thread would have waited, if the last release is later by its holder's clock
  /// than `now` is by that of the thread. Had it come before that holder, the other would have waited for
  /// it instead; but all sections have to fit into the time that has passed by its clock. floor: the least
  /// level; number: of the window.
  [[nodiscard]] std::uint64_t missed_wait(std::uint64_t floor, std::uint64_t number,
                                          std::uint64_t now) const {
    const std::uint64_t released = release.at.load(std::memory_order_relaxed);
    if (released == 0) {
      return 0;
    }
    const std::uint64_t level = std::max(release.level.load(std::memory_order_relaxed), floor);
    const std::uint64_t early = above(now, released - level);
    if (early <= length.load(std::memory_order_relaxed)) {
      return early;
    }
    const std::uint64_t full =
        window.load(std::memory_order_relaxed) == number
            ? first.load(std::memory_order_relaxed) + all.load(std::memory_order_relaxed)
            : now;
    return std::min(early, above(now, full));
  }
};

/// What the thread of a section is to the other holders of its mutex.
enum class holder : std::uint8_t { only, reader, writer };

/// The sections of the mutexes of one place.
struct usage_of_place {
  usage all;
  usage writers;  ///< where readers go together

  /// Returns the sections that one has to wait for.
  [[nodiscard]] const usage& before(holder of) const {
    return of == holder::reader ? writers : all;
  }

  void enter(holder of, std::uint64_t number, std::uint64_t now) {
    all.enter(number, now);
    if (of == holder::writer) {
      writers.enter(number, now);
    }
  }

  void leave(holder of, std::uint64_t by_level, std::uint64_t now) {
    all.leave(of == holder::reader, by_level, now);
    if (of == holder::writer) {
      writers.leave(false, by_level, now);
    }
  }
};

}  // namespace lockwright::probe::speedup
