// A program with its own getenv(), which locks a mutex: a lock that called it in the first
// contended acquisition might wait for that mutex.
#include "../support/check.hpp"

#include <string_view>

namespace {

pthread_mutex_t environment_mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> calls{0};

}  // namespace

extern "C" {

char* getenv(const char* name) noexcept {
  calls.fetch_add(1);
  OK(pthread_mutex_lock(&environment_mutex));
  const std::string_view wanted{name};
  char* found = nullptr;
  for (char** each = environ; found == nullptr && *each != nullptr; ++each) {
    const std::string_view entry{*each};
    if (entry.starts_with(wanted) && entry.substr(wanted.size()).starts_with('='))
      found = *each + wanted.size() + 1;
  }
  OK(pthread_mutex_unlock(&environment_mutex));
  return found;
}

}  // extern "C"

namespace {

// The first contention of the process.
CASE("first contention") {
  CHECK(setenv("SET_HERE", "yes", 1) == 0);
  OK(pthread_mutex_lock(&environment_mutex));
  const int before = calls;
  check::Worker other{[](check::Worker& self) {
    self.about_to_block();
    const char* value = getenv("SET_HERE");
    CHECK(value != nullptr && std::string_view{value} == "yes");
  }};
  other.wait_until_blocked();
  OK(pthread_mutex_unlock(&environment_mutex));
  other.join();
  CHECK_EQ(before + 1, calls.load());
};

}  // namespace
