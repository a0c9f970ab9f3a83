// Two threads that sleep for a mutex until standard input ends.
#include "../support/check.hpp"

namespace {

pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] void want_it() {
  pthread_mutex_lock(&wanted);
  pthread_mutex_unlock(&wanted);
}

}  // namespace

int main() {
  pthread_mutex_lock(&wanted);
  std::thread one(want_it);
  std::thread two(want_it);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  pthread_mutex_unlock(&wanted);
  one.join();
  two.join();
  return 0;
}
