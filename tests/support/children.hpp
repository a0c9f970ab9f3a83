// Child processes of the tests.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

namespace check {

/// Starts a child process that runs `body` and then ends with status 0.
template <class Body>
pid_t start_child(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  return child;
}

/// Returns once the child has ended; its status has to be 0.
inline void await_child(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_EQ(0, status);
}

template <class Body>
void in_child(Body body) {
  await_child(start_child(body));
}

}  // namespace check
