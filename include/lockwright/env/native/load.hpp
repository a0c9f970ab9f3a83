// The load of the machine.
#pragma once

#include <cstdint>

#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::native_env {

/// The number of runnable threads of the machine: the fourth number of /proc/loadavg,
/// "0.61 0.48 0.33 3/512 4711"; 0 if it cannot be read, or a sandbox may forbid that.
inline std::uint32_t runnable() {
  char text[128];
  bool is_read = false;
  if (!unless_filtered([&] { is_read = read_text(text, sizeof text, {"/proc/loadavg"}); }) ||
      !is_read) {
    return 0;
  }
  const char* at = text;
  for (int spaces = 3; spaces != 0; ++at) {
    if (*at == '\0') {
      return 0;
    }
    spaces -= *at == ' ' ? 1 : 0;
  }
  std::uint32_t threads = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    threads = threads * 10 + static_cast<std::uint32_t>(*at - '0');
  }
  return threads;
}

}  // namespace lockwright::native_env
