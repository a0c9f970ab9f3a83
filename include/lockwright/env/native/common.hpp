// What all locks of a process share: one object of each type, of zeroed memory.
#pragma once

#include <sys/mman.h>

#include <atomic>

#include "lockwright/env/native/pool.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

template <class T>
inline constinit std::atomic<T*> common_object{nullptr};

/// The child of a fork finds it zeroed again: what the parent's threads had put
/// there means nothing to the child, which has one thread. (Linux 4.14; an older
/// kernel leaves it as it was.)
template <class T>
[[gnu::noinline]] T* make_common() {
  void* mine = map_pages(sizeof(T));
  system_call(SYS_madvise, argument(mine), sizeof(T), MADV_WIPEONFORK);
  T* other = nullptr;
  if (common_object<T>.compare_exchange_strong(
          other, static_cast<T*>(mine), std::memory_order_release, std::memory_order_acquire)) {
    bytes_in_one_piece.fetch_add(sizeof(T), std::memory_order_relaxed);
    return static_cast<T*>(mine);
  }
  unmap_pages(mine, sizeof(T));
  return other;
}

template <class T>
T& common() {
  T* made = common_object<T>.load(std::memory_order_acquire);
  return made != nullptr ? *made : *make_common<T>();
}

}  // namespace lockwright::native_env
