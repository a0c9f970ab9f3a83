// The algorithm of each mutex and reader-writer lock, as LOCKWRIGHT_PLAN assigns it.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/choice.hpp"
#include "preload/mixed/algorithm.hpp"
#include "preload/stats_page.hpp"

namespace lockwright::preload {

using interpose::rwlock_mode;

/// A mutex or reader-writer lock without an algorithm: its address, and the caller of its
/// initialisation or, without one, of its first use.
struct new_lock {
  const void* address;
  const void* caller;  ///< return address of the call
  bool is_initialised;
};

/// A place in one of the files that the process has loaded.
struct position {
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};  ///< in no loaded file
  static constexpr std::uint32_t elsewhere = nowhere - 1;      ///< in a file outside the plan

  std::uint32_t module;  ///< number in the plan, or a constant above
  std::uint64_t offset;  ///< relative to the load address
};

/// A new_lock, with the addresses as positions.
struct init_site {
  position lock;
  position call;  ///< the last byte of the call
  bool is_initialised;
};

/// The plan of this process. The text in the environment has one record per line, with hexadecimal
/// numbers, and is written by python/lockwright/plan/compiled.py:
///
///   M name                    | a file: the last part of its path. They are numbered from 0.
///   D lock lock ...           | the default entry: its mutexes get the locks in rotation
///   E by ordinal lock lock .. | an entry, of which the first that applies counts; `by`: bits of
///                             | `match`; `ordinal`: only that one of its mutexes, or - for all
///   R module from to          | a range of the last entry: from `from` to before `to`
///   d                         | the default entry of reader-writer locks, if the plan has entries
///                             | for them: they get the lock of LOCKWRIGHT_RWLOCK
///   e by ordinal lock lock .. | as E, for reader-writer locks
class plan {
 public:
  /// Returns the positions of a lock. Does not allocate; may wait for the dynamic linker in C
  /// libraries before 2.35.
  [[nodiscard]] init_site locate(const new_lock& candidate) const;

  /// Returns the algorithm for a mutex, and counts it. Waits for no thread.
  algorithm choose(const init_site& site);

  algorithm choose(const new_lock& candidate) { return choose(locate(candidate)); }

  /// Returns true if the plan has entries for reader-writer locks.
  [[nodiscard]] bool assigns_rwlocks() const { return rwlock_default_ != 0; }

  /// The same as choose() for a reader-writer lock, if the plan assigns_rwlocks().
  rwlock_mode choose_rwlock(const init_site& site);

 private:
  friend plan& current_plan();

  enum match : std::uint32_t {
    by_variable = 1,     ///< the lock lies in a range
    by_initialiser = 2,  ///< initialised from a range
    by_first_use = 4,    ///< not initialised, first used from a range
    by_library = 8,      ///< in or initialised from a range; on the heap also first used from one
    by_any = 16,         ///< every lock
  };

  struct range {
    std::uint32_t module;
    std::uint64_t from;
    std::uint64_t to;

    [[nodiscard]] bool contains(const position& place) const {
      return place.module == module && place.offset >= from && place.offset < to;
    }
  };

  static constexpr std::uint64_t all = ~std::uint64_t{0};

  struct entry {
    bool is_for_rwlocks;
    std::uint32_t by;
    std::uint64_t ordinal;
    std::uint8_t* algorithms;  ///< each an `algorithm`, or a rwlock_mode
    std::uint32_t algorithm_number;
    range* ranges;
    std::uint32_t range_number;
    std::atomic<std::uint64_t> covered;   ///< locks that the entry covers
    std::atomic<std::uint64_t> assigned;  ///< locks that got an algorithm from it

    [[nodiscard]] bool covers(const init_site& site) const;
    std::uint8_t next_algorithm() {
      const std::uint64_t index = assigned.fetch_add(1, std::memory_order_relaxed);
      return algorithms[index % algorithm_number];
    }
  };

  class reader;

  [[nodiscard]] position locate(const void* address) const;

  /// Returns the entry for a lock, `otherwise` if none covers it, and counts the lock.
  entry& choose_entry(const init_site& site, std::uint32_t otherwise);

  const char** modules_;
  std::uint32_t module_number_;
  entry* entries_;  ///< the first is the default of mutexes
  std::uint32_t entry_number_;
  std::uint32_t
      rwlock_default_;  ///< number of the default entry of reader-writer locks; 0 for none
  stats_page* stats_;   ///< counts the locks of each entry; null if not requested
};

plan& current_plan();

}  // namespace lockwright::preload
