// The common code of the parts. A probe prints one line, "name: result", and checks nothing.
#pragma once

#include <sys/wait.h>

#include "../../support/check.hpp"

namespace conformance {

// The subject of the next probes.
inline std::string group;

inline void report(const std::string& name, const std::string& result) {
  std::printf("%s, %s: %s\n", group.c_str(), name.c_str(), result.c_str());
  std::fflush(stdout);
}

inline void probe(const std::string& name, int error) { report(name, check::error_name(error)); }

// Reports the result of a call that returns -1 and sets errno.
inline void probe_errno(const std::string& name, int result) {
  report(name, result == 0 ? "0" : check::error_name(errno));
}

inline void probe_is(const std::string& name, bool value) { report(name, value ? "yes" : "no"); }

using check::in_thread;

// Returns the error number with which a child process ends, "hangs", or the signal that ended it.
inline std::string end_of(pid_t pid) {
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (WIFEXITED(status)) return check::error_name(WEXITSTATUS(status));
  return WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status));
}

// Seconds after which a child counts as hanging.
inline constexpr unsigned child_seconds = 60;

// Returns the result of a call in a child process.
template <class Call>
std::string in_child(Call call) {
  std::fflush(stdout);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(child_seconds);
    _exit(call());
  }
  return end_of(pid);
}

inline const timespec past{1, 0};
inline const timespec long_past{-1, 0};
inline const timespec too_many{1, 1'000'000'000};
inline const timespec negative{1, -1};

inline timespec soon(clockid_t clock = CLOCK_REALTIME) { return check::after_ms(clock, 2); }

}  // namespace conformance
