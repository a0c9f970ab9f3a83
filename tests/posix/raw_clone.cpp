// Children of clone() that the C library does not know of, as browsers start them: the thread there
// has another number than the C library has stored. They read the stored one from an
// error-checking mutex, find it in the thread's control block, and correct it.
#include "../support/children.hpp"

#include <csignal>
#include <cstddef>

namespace {

// Returns the caller's number, as recorded in a mutex that it holds.
pid_t owner_by(pthread_mutex_t mutex) {
  OK(pthread_mutex_lock(&mutex));
  const pid_t owner = mutex.__data.__owner;
  OK(pthread_mutex_unlock(&mutex));
  return owner;
}

pid_t stored_id() { return owner_by(PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP); }

// On all known architectures the control block has it among the first words.
constexpr std::size_t words = 1024 / sizeof(pid_t);

// Stores `right` in place of `wrong`; returns false if `wrong` is not found. Words that have the
// same value by chance are left as they were.
bool correct_kernel_id(pid_t wrong, pid_t right) {
  auto* block = reinterpret_cast<volatile pid_t*>(pthread_self());
  for (std::size_t i = 0; i < words; ++i) {
    if (block[i] != wrong) continue;
    block[i] = right;
    if (stored_id() == right) return true;
    block[i] = wrong;
  }
  return false;
}

void child(pid_t parent_id) {
  const auto real = static_cast<pid_t>(syscall(SYS_gettid));
  CHECK(real != parent_id);
  CHECK_EQ(parent_id, stored_id());
  CHECK(correct_kernel_id(parent_id, real));
  CHECK_EQ(real, stored_id());
  for (const pthread_mutex_t& kind : {pthread_mutex_t PTHREAD_MUTEX_INITIALIZER,
                                      pthread_mutex_t PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                      pthread_mutex_t PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP}) {
    CHECK_EQ(real, owner_by(kind));
  }
  // The thread owns the mutexes that it locks.
  pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  OK(pthread_mutex_lock(&checked));
  CHECK_RC(EDEADLK, pthread_mutex_lock(&checked));
  OK(pthread_mutex_unlock(&checked));
  CHECK_RC(EPERM, pthread_mutex_unlock(&checked));
}

void clone_a_child() {
  const auto parent_id = static_cast<pid_t>(syscall(SYS_gettid));
  CHECK_EQ(parent_id, stored_id());
  // Only the signal as flags: the arguments are then the same on all architectures.
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  CHECK(pid >= 0);
  if (pid == 0) {
    child(parent_id);
    _exit(0);
  }
  check::await_child(pid);
  CHECK_EQ(parent_id, stored_id());
}

CASE("by the first thread") {
  for (int i = 0; i < 20; ++i) clone_a_child();
};

// Threads that have not locked anything yet when they start their child.
CASE("by other threads") {
  for (int i = 0; i < 20; ++i) check::Worker{[](check::Worker&) { clone_a_child(); }};
};

// The child of a fork, for which the C library has corrected the number.
CASE("by the child of a fork") {
  check::in_child([&] { clone_a_child(); });
};

}  // namespace
