// The loaded file that contains an address.
#pragma once

#include <cstdint>

namespace lockwright::preload {

/// A loaded file; path: null if there is none; base: its load address, which is added to the
/// addresses in the file.
struct loaded_file {
  const char* path;
  std::uintptr_t base;
};

/// Returns the file that contains `address`. Does not allocate.
loaded_file file_of(const void* address);

}  // namespace lockwright::preload
