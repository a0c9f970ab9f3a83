// The objects that the dynamic linker has loaded.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

namespace lockwright::interpose {

/// Returns the object that contains `address`; null if there is none.
inline link_map* object_of(const void* address) {
  Dl_info info;
  void* map = nullptr;
  return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 ? nullptr
                                                             : static_cast<link_map*>(map);
}

/// Returns the C library, by a function that other libraries do not replace.
inline link_map* c_library() { return object_of(reinterpret_cast<void*>(&sched_yield)); }

}  // namespace lockwright::interpose
