// A program with a getenv() of its own, which locks a mutex: a lock that called it when it
// first has to wait might wait for this very mutex.
#include "../support/check.hpp"

#include <string_view>

namespace {

pthread_mutex_t of_environment = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> asked{0};

}  // namespace

extern "C" {

char* getenv(const char* name) noexcept {
  asked.fetch_add(1);
  OK(pthread_mutex_lock(&of_environment));
  const std::string_view wanted{name};
  char* found = nullptr;
  for (char** each = environ; found == nullptr && *each != nullptr; ++each) {
    const std::string_view one{*each};
    if (one.starts_with(wanted) && one.substr(wanted.size()).starts_with('='))
      found = *each + wanted.size() + 1;
  }
  OK(pthread_mutex_unlock(&of_environment));
  return found;
}

}  // extern "C"

namespace {

// The first contention of the process.
std::string first_contention() {
  CHECK(setenv("SET_HERE", "yes", 1) == 0);
  OK(pthread_mutex_lock(&of_environment));
  const int before = asked;
  check::Worker other{[](check::Worker& self) {
    self.about_to_block();
    const char* value = getenv("SET_HERE");
    CHECK(value != nullptr && std::string_view{value} == "yes");
  }};
  other.wait_until_blocked();
  OK(pthread_mutex_unlock(&of_environment));
  other.join();
  CHECK_EQ(before + 1, asked.load());
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv, {{"first contention", first_contention}});
}
