// The small files in which the kernel says what the machine is and does.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <initializer_list>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

/// What stands in the file whose path is made of `parts`; false if it cannot be read.
inline bool read_text(char* text, std::size_t room, std::initializer_list<const char*> parts) {
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
  long got = system_call(SYS_read, file, argument(text), static_cast<long>(room - 1));
  system_call(SYS_close, file);
  if (got <= 0) {
    return false;
  }
  text[got] = '\0';
  return true;
}

}  // namespace lockwright::native_env
