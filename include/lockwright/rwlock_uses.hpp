// What a reader-writer lock is for, besides its traits: `lockwright advise` and `tune` rank the
// locks by it, and the preload libraries arrange their readers' fast paths.
#pragma once

#include <cstdint>

namespace lockwright {

/// A workload condition that some reader-writer locks suit best.
enum class rwlock_use_case : std::uint8_t {
  none,
  crowded,           ///< more threads want to run than there are processors
  starved_writers,   ///< later readers pass waiting writers
  mostly_read,       ///< almost all acquisitions are reads
  read_and_written,  ///< any other load
};

/// A use case for which a lock is recommended.
struct rwlock_suitability {
  rwlock_use_case when = rwlock_use_case::none;
  std::uint8_t rank = 0;  ///< 1 is tried first; at equal rank, the lock that needs less memory
  const char* why = "";   ///< the reason in a few words
};

/// The place of a reader's fast path in the libraries.
enum class reader_path : std::uint8_t {
  function,  ///< a function of its own
  inlined,   ///< the entry point: it has to be so short that it saves no registers
  /// As inlined, and the entry points compare the lock's algorithm with this one first, or second,
  /// which makes the paths of all other locks longer.
  first,
  second,
};

/// The static member `uses` of a reader-writer lock.
struct rwlock_uses {
  rwlock_suitability cases[4]{};
  lockwright::reader_path reader_path = lockwright::reader_path::function;
};

/// Returns the uses that a lock states; without one, no use case.
template <class L>
constexpr rwlock_uses uses_of() {
  if constexpr (requires { L::uses; }) {
    return L::uses;
  } else {
    return rwlock_uses{};
  }
}

}  // namespace lockwright
