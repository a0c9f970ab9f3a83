// The environment without getenv(): a program may have one of its own, which locks a mutex, as
// Firefox does. What is read here may be asked for by the lock of that very mutex.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>

namespace lockwright::native_env {

/// What a variable is set to; null if it is not, where the C library has not started, and in a
/// program that has more rights than its caller (setuid, setgid, file capabilities): variables name
/// files that the library writes to.
inline const char* environment_variable(const char* name) {
  if (environ == nullptr || getauxval(AT_SECURE) != 0) {
    return nullptr;
  }
  for (char* const* each = environ; *each != nullptr; ++each) {
    std::size_t same = 0;
    while (name[same] != '\0' && (*each)[same] == name[same]) {
      ++same;
    }
    if (name[same] == '\0' && (*each)[same] == '=') {
      return *each + same + 1;
    }
  }
  return nullptr;
}

}  // namespace lockwright::native_env
