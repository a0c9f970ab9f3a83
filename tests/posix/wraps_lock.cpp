// A third-party preload library that counts the calls of two functions and passes them on to
// the next library, as profilers do. At the end it prints the counts.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> locks{0};
std::atomic<long> signals{0};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::destructor]] void write_report() {
  const char* path = std::getenv("WRAPS_LOCK_REPORT");
  const int file =
      path != nullptr ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file < 0) return;
  char line[64];
  const int length = std::snprintf(line, sizeof line, "%ld %ld\n", locks.load(), signals.load());
  [[maybe_unused]] const ssize_t written = write(file, line, static_cast<std::size_t>(length));
  close(file);
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const passed_on = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  locks.fetch_add(1);
  return passed_on(mutex);
}

int pthread_cond_signal(pthread_cond_t* cond) {
  static auto* const passed_on = next<int(pthread_cond_t*)>("pthread_cond_signal");
  signals.fetch_add(1);
  return passed_on(cond);
}

}  // extern "C"
