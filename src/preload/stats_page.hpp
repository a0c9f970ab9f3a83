// The file in which a process counts its lock operations. The command creates it and names it in
// LOCKWRIGHT_STATS; python/lockwright/preload/counters.py reads it by the layout that
// `lockwright-layouts` prints.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <cstdint>

#include "interpose/layout.hpp"
#include "interpose/loads.hpp"
#include "lockwright/env/native.hpp"
#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/file.hpp"

namespace lockwright::preload {

using interpose::loads;

/// Entries that a plan may have, the default entry included.
inline constexpr std::uint32_t max_entries = 1024;

/// One header line of 64 bytes, then two lines for each stripe of threads, so that threads seldom
/// share a line, then a word for each entry of a plan, then the processes. Shared by a tree of
/// processes. All but `chosen` is written by the counting libraries only.
struct stats_page {
  using counter = std::atomic<std::uint64_t>;

  static constexpr char magic[8] = "LWSTATS";
  static constexpr std::uint32_t stripes = 64;
  static constexpr std::uint32_t words = 16;

  interpose::layout_stamp stamp;
  counter processes;
  counter unresolved;
  std::uint64_t unused[4];
  counter of[stripes][words];
  counter chosen[max_entries];  ///< mutexes that got their algorithm from each entry
  loads loaded;
};
LOCKWRIGHT_LAYOUT(stats_page, stamp, processes, unresolved, unused, of, chosen, loaded);
static_assert(offsetof(stats_page, of) == 64 && offsetof(stats_page, chosen) % 64 == 0);

/// Maps the page; returns null if none was requested.
inline stats_page* map_stats_page() {
  using native_env::argument;
  using native_env::system_call;
  const char* path = native_env::environment_variable("LOCKWRIGHT_STATS");
  long file =
      path == nullptr ? -1 : system_call(SYS_openat, AT_FDCWD, argument(path), O_RDWR | O_CLOEXEC);
  auto* mapped = static_cast<stats_page*>(native_env::map_shared(file, sizeof(stats_page)));
  constexpr std::uint64_t number = interpose::layout_number<stats_page>();
  return mapped != nullptr && mapped->stamp.is(stats_page::magic, number) ? mapped : nullptr;
}

}  // namespace lockwright::preload
