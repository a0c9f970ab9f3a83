// The loaded file that contains an address.
#pragma once

#include <cstdint>

namespace lockwright::preload {

/// path: null if there is none. base: what the addresses in the file are less by.
struct loaded_file {
  const char* path;
  std::uintptr_t base;
};

/// Without allocating.
loaded_file file_of(const void* address);

}  // namespace lockwright::preload
