// The environment without getenv(): a program may define its own, which locks a mutex, as Firefox
// does, and the lock of that mutex may read the environment here.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

#include <cstddef>

namespace lockwright::native_env {

/// The value of a variable; null if it is not set, before the C library has started, and in a
/// program with more rights than its caller (setuid, setgid, file capabilities), because variables
/// name files that the library writes to.
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
