// The end, with one line on standard error.
#pragma once

#include <cstddef>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

inline std::size_t length_of(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') {
    ++n;
  }
  return n;
}

/// Writes the pieces to standard error as one line, in one write.
template <class... Text>
void complain(const Text*... pieces) {
  char line[512];
  std::size_t used = 0;
  auto append = [&](const char* text) {
    for (std::size_t i = 0, n = length_of(text); i < n && used < sizeof line - 1; ++i) {
      line[used++] = text[i];
    }
  };
  append("lockwright: ");
  (append(pieces), ...);
  line[used++] = '\n';
  system_call(SYS_write, 2, argument(line), static_cast<long>(used));
}

[[noreturn, gnu::cold]] inline void out_of_memory() {
  complain("the kernel gives no memory for lock state; the process cannot go on");
  __builtin_trap();
}

}  // namespace lockwright::native_env
