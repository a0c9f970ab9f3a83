// What the parts share: a probe prints one line, "name: result", and judges nothing.
#pragma once

#include <sys/wait.h>

#include "../../support/check.hpp"

namespace conformance {

// What the next probes are about.
inline std::string group;

inline void say(const std::string& name, const std::string& result) {
  std::printf("%s, %s: %s\n", group.c_str(), name.c_str(), result.c_str());
  std::fflush(stdout);
}

inline void probe(const std::string& name, int error) { say(name, check::error_name(error)); }

// For the calls that return -1 and set errno.
inline void probe_errno(const std::string& name, int result) {
  say(name, result == 0 ? "0" : check::error_name(errno));
}

inline void probe_is(const std::string& name, bool is) { say(name, is ? "yes" : "no"); }

using check::elsewhere;

// The error number with which a child process ends, or "hangs", or the signal that ended it.
inline std::string end_of(pid_t pid) {
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (WIFEXITED(status)) return check::error_name(WEXITSTATUS(status));
  return WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status));
}

// Seconds after which a child is taken to hang.
inline constexpr unsigned patience = 60;

// What a call gives in a child process.
template <class Call>
std::string in_child(Call call) {
  std::fflush(stdout);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(patience);
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
