#include "counting.hpp"

#if LOCKWRIGHT_COUNTING

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cstring>

namespace lockwright::preload {
namespace {

using counter = std::atomic<std::uint64_t>;

/// The file: one header line of 64 bytes, then two lines for each stripe of
/// threads, so that threads seldom share a line, then a word for each entry of a
/// plan. Shared by a tree of processes.
struct sheet {
  static constexpr std::uint32_t stripes = 64;
  static constexpr std::uint32_t words = 16;

  char magic[8];
  counter processes;
  counter unresolved;
  std::uint64_t unused[5];
  counter of[stripes][words];
  counter chosen[most_entries];
};
static_assert(sizeof(sheet) == 64 + 64 * 128 + 1024 * 8);

/// Where counts go that nobody asked for.
sheet discarded;

std::atomic<sheet*> current{nullptr};

sheet* map_file(const char* path) {
  using native_env::argument;
  using native_env::system_call;
  long file = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  long length = system_call(SYS_lseek, file, 0, SEEK_END);
  long at = -1;
  if (length >= static_cast<long>(sizeof(sheet))) {
    at = system_call(SYS_mmap, 0, sizeof(sheet), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  system_call(SYS_close, file);
  if (at < 0 && at > -4096) {
    return nullptr;
  }
  auto* mapped = reinterpret_cast<sheet*>(at);
  native_env::valgrind::hide(mapped, sizeof *mapped);
  return std::memcmp(mapped->magic, "LWSTATS3", sizeof mapped->magic) == 0 ? mapped : nullptr;
}

/// The sheet, mapped at the first count. Threads that race map it twice, which
/// is harmless: both mappings are the same memory.
sheet& the_sheet() {
  sheet* known = current.load(std::memory_order_acquire);
  if (known == nullptr) {
    const char* path = getenv("LOCKWRIGHT_STATS");
    known = path == nullptr ? nullptr : map_file(path);
    if (known == nullptr) {
      known = &discarded;
    }
    current.store(known, std::memory_order_release);
  }
  return *known;
}

}  // namespace

void count(event what) {
  the_sheet().of[native::self() % sheet::stripes][static_cast<std::uint8_t>(what)].fetch_add(
      1, std::memory_order_relaxed);
}

void count_process() { the_sheet().processes.fetch_add(1, std::memory_order_relaxed); }

void count_unresolved(std::uint64_t names) {
  the_sheet().unresolved.fetch_add(names, std::memory_order_relaxed);
}

void count_chosen(std::uint32_t entry) {
  the_sheet().chosen[entry].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace lockwright::preload

#endif
