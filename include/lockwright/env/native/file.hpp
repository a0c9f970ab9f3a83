// Access to files by system calls alone: the kernel's small files in /proc and /sys, and those that
// are shared with the command line.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <initializer_list>

#include "lockwright/env/native/syscall.hpp"
#include "lockwright/env/native/valgrind.hpp"

namespace lockwright::native_env {

/// The contents of the file whose path is the concatenated `parts`; false if it cannot be read.
inline bool read_text(char* text, std::size_t size, std::initializer_list<const char*> parts) {
  char path[128];
  std::size_t end = 0;
  for (const char* part : parts) {
    for (; *part != '\0' && end < sizeof path - 1; ++part) {
      path[end++] = *part;
    }
  }
  path[end] = '\0';
  long file = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  long length = system_call(SYS_read, file, argument(text), static_cast<long>(size - 1));
  system_call(SYS_close, file);
  if (length <= 0) {
    return false;
  }
  text[length] = '\0';
  return true;
}

/// Calls `use` with each character of a field of /proc/self/status, after the colon that `field` ends
/// in; returns false if the kernel gives no such field.
template <class Use>
bool each_of_status(const char* field, Use use) {
  const char* path = "/proc/self/status";
  const long file = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  char part[512]{};
  const char* left = field;  // of its name, to be matched; null: this line has another
  bool found = false;
  bool ended = false;
  for (long length = 1; length > 0 && !ended;) {
    length = system_call(SYS_read, file, argument(part), sizeof part);
    for (long i = 0; i < length && !ended; ++i) {
      if (part[i] == '\n') {
        ended = found;
        left = field;
      } else if (found) {
        use(part[i]);
      } else if (left != nullptr) {
        left = *left == part[i] ? left + 1 : nullptr;
        found = left != nullptr && *left == '\0';
      }
    }
  }
  system_call(SYS_close, file);
  return found;
}

/// Maps the beginning of an open file, shared and writable, and closes the file; null if that is
/// not open, or is shorter than `bytes`.
inline void* map_shared(long file, std::size_t bytes) {
  if (file < 0) {
    return nullptr;
  }
  const long wanted = static_cast<long>(bytes);
  long at = -1;
  if (system_call(SYS_lseek, file, 0, SEEK_END) >= wanted) {
    at = system_call(SYS_mmap, 0, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  system_call(SYS_close, file);
  if (at < 0 && at > -4096) {
    return nullptr;
  }
  auto* mapped = reinterpret_cast<void*>(at);
  valgrind::hide(mapped, bytes);
  return mapped;
}

}  // namespace lockwright::native_env
