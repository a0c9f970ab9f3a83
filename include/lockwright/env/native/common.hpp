// The objects that all locks of a process share: one of each type, in zeroed memory.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/sandbox.hpp"
#include "lockwright/env/native/valgrind.hpp"

namespace lockwright::native_env {

template <class T>
inline constinit std::atomic<T*> common_object{nullptr};

// The largest page size of the architecture.
#if defined(__aarch64__)
inline constexpr std::size_t page_size = 65536;
#else
inline constexpr std::size_t page_size = 4096;
#endif

/// Pages that take no memory before they are written to. Not mapped at the first use, since that
/// may fail.
template <class T>
struct alignas(page_size) common_pages {
  unsigned char bytes[(sizeof(T) + page_size - 1) / page_size * page_size];
};

template <class T>
inline constinit common_pages<T> pages_of_common{};

/// The size of all objects made so far.
inline constinit std::atomic<std::uint64_t> common_bytes{0};

/// In the child of a fork it is zeroed again, since it describes threads that the child does
/// not have, unless T::survives_fork. (Linux 4.14; an older kernel leaves it unchanged.)
template <class T>
[[gnu::noinline]] T* make_common() {
  void* mine = &pages_of_common<T>;
  valgrind::hide(mine, sizeof(T));
  if constexpr (!requires { T::survives_fork; }) {
    unless_filtered([mine] {
      system_call(SYS_madvise, argument(mine), sizeof(common_pages<T>), MADV_WIPEONFORK);
    });
  }
  if (common_object<T>.exchange(static_cast<T*>(mine), std::memory_order_release) == nullptr) {
    common_bytes.fetch_add(sizeof(T), std::memory_order_relaxed);
  }
  return static_cast<T*>(mine);
}

template <class T>
T& common() {
  T* made = common_object<T>.load(std::memory_order_acquire);
  return made != nullptr ? *made : *make_common<T>();
}

}  // namespace lockwright::native_env
