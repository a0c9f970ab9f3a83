// Which algorithm each mutex is to have: what LOCKWRIGHT_PLAN says.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/mixed/algorithm.hpp"
#include "preload/stats_page.hpp"

namespace lockwright::preload {

/// A mutex at its first sight: its address, and the caller
/// of its initialisation or, without one, of its first use.
struct found_mutex {
  const void* mutex;
  const void* caller;  ///< what the call returns to
  bool is_initialised;
};

/// A place in one of the files that the process has loaded.
struct position {
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};  ///< in no such file
  static constexpr std::uint32_t elsewhere = nowhere - 1;      ///< in one of no interest

  std::uint32_t module;  ///< number in the plan, or one of the two
  std::uint64_t offset;  ///< in the addresses that the file itself uses
};

/// A found_mutex, in terms of the plan.
struct init_site {
  position mutex;
  position call;  ///< the last byte of the call
  bool is_initialised;
};

/// Made once for each process. The text in the environment has one record a line,
/// numbers in hexadecimal, and is written by python/lockwright/plan/compiled.py:
///
///   M name                    | a file: the last part of its path. They are numbered from 0.
///   D lock lock ...           | of all others: the first has the first lock, and so on,
///                             | round and round
///   E by ordinal lock lock .. | an entry, the first that applies counts; `by`: bits of `match`;
///                             | `ordinal`: which of those that it would apply to, or -
///   R module from to          | of the last entry: from `from` up to, and not with, `to`
class plan {
 public:
  /// Without allocating. May wait for the dynamic linker, where it has no table to look in.
  [[nodiscard]] init_site locate(const found_mutex& seen) const;

  /// Counts the mutex, and waits for no thread.
  algorithm choose(const init_site& where);

  algorithm choose(const found_mutex& seen) { return choose(locate(seen)); }

 private:
  friend plan& the_plan();

  enum match : std::uint32_t {
    by_variable = 1,     ///< the mutex lies there
    by_initialiser = 2,  ///< it is initialised from there
    by_first_use = 4,    ///< it is not, and used from there first
    by_library = 8,      ///< it is there, or is initialised there; if neither, used there first
    by_any = 16,         ///< wherever it is
  };

  struct range {
    std::uint32_t module;
    std::uint64_t from;
    std::uint64_t to;

    [[nodiscard]] bool has(const position& at) const {
      return at.module == module && at.offset >= from && at.offset < to;
    }
  };

  static constexpr std::uint64_t any = ~std::uint64_t{0};

  struct entry {
    std::uint32_t by;
    std::uint64_t ordinal;
    algorithm* algorithms;
    std::uint32_t algorithm_number;
    range* ranges;
    std::uint32_t range_number;
    std::atomic<std::uint64_t> seen;   ///< mutexes at its place
    std::atomic<std::uint64_t> given;  ///< an algorithm

    [[nodiscard]] bool covers(const init_site& where) const;
    algorithm give() {
      const std::uint64_t turn = given.fetch_add(1, std::memory_order_relaxed);
      return algorithms[turn % algorithm_number];
    }
  };

  class reader;

  [[nodiscard]] position locate(const void* address) const;

  const char** modules_;
  std::uint32_t module_number_;
  entry* entries_;  ///< the first is of all others
  std::uint32_t entry_number_;
  stats_page* stats_;  ///< where the mutexes of each entry are counted; null if not requested
};

plan& the_plan();

}  // namespace lockwright::preload
