// Messages on standard error, and the end of the process after one.
#pragma once

#include <cstddef>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

/// Writes the pieces to standard error as one line, in one write.
template <class... Text>
void complain(const Text*... pieces) {
  char line[512];
  std::size_t used = 0;
  auto append = [&](const char* text) {
    for (; *text != '\0' && used < sizeof line - 1; ++text) {
      line[used++] = *text;
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
