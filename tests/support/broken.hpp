// Common parts of preload libraries with a fault: the C library's functions and a count of calls.
#pragma once

#include <dlfcn.h>
#include <atomic>

namespace broken {

template <class Function>
Function* real(const char* name, const char* version) {
  void* function = dlvsym(RTLD_NEXT, name, version);
  return reinterpret_cast<Function*>(function != nullptr ? function : dlsym(RTLD_NEXT, name));
}

#if defined(__x86_64__)
inline constexpr char base[] = "GLIBC_2.2.5";
inline constexpr char cond[] = "GLIBC_2.3.2";
#else
inline constexpr char base[] = "GLIBC_2.17";
inline constexpr char cond[] = "GLIBC_2.17";
#endif
inline constexpr char late[] = "GLIBC_2.34";

// Returns true for one call in `nth`.
inline bool every(int nth) {
  static std::atomic<int> calls{0};
  return calls.fetch_add(1, std::memory_order_relaxed) % nth == nth - 1;
}

}  // namespace broken
