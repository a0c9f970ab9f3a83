// What tells a process from all others: also from those that have the same number in another PID
// namespace, and from those that had it before. It stays when the process executes another program.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>

#include "interpose/layout.hpp"
#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::interpose {

struct process_identity {
  std::uint32_t pid;  ///< in its own namespace
  std::uint32_t unused;
  std::uint64_t pid_namespace;  ///< the kernel's number of that; 0 without /proc
  std::uint64_t started;        ///< by the kernel's clock ticks; 0 likewise

  friend bool operator==(const process_identity&, const process_identity&) = default;

  /// Returns a number that another process hardly has; never 0.
  [[nodiscard]] std::uint64_t hash() const {
    return hashed(hashed(hashed(0xcbf29ce484222325, pid), pid_namespace), started) | 1;
  }
};
LOCKWRIGHT_LAYOUT(process_identity, pid, unused, pid_namespace, started);

/// Returns the time at which this process began; 0 if unknown.
inline std::uint64_t start_time() {
  using native_env::argument;
  using native_env::system_call;
  char text[1024];
  const long file =
      system_call(SYS_openat, AT_FDCWD, argument("/proc/self/stat"), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const long length = system_call(SYS_read, file, argument(text), sizeof text - 1);
  system_call(SYS_close, file);
  text[length > 0 ? length : 0] = '\0';
  // The twentieth field after the name, which may contain any character.
  constexpr int fields = 20;
  const char* at = std::strrchr(text, ')');
  for (int i = 0; i < fields && at != nullptr; ++i) {
    at = std::strchr(at + 1, ' ');
  }
  std::uint64_t ticks = 0;
  for (const char* digit = at; digit != nullptr && *++digit >= '0' && *digit <= '9';) {
    ticks = ticks * 10 + static_cast<std::uint64_t>(*digit - '0');
  }
  return ticks;
}

inline process_identity identity_of_caller() {
  using native_env::argument;
  using native_env::system_call;
  process_identity self{};
  self.pid = native_env::process_number();
  self.started = start_time();
  struct stat of_namespace{};
  if (system_call(SYS_newfstatat, AT_FDCWD, argument("/proc/self/ns/pid"), argument(&of_namespace),
                  0) == 0) {
    self.pid_namespace = of_namespace.st_ino;
  }
  return self;
}

}  // namespace lockwright::interpose
