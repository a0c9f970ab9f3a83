// A third-party preload library that gives the program another time, as libfaketime does:
// MOVED_CLOCK_DAYS days ahead, and MOVED_CLOCK_RATE times as fast. Of the functions with a deadline
// it replaces one.
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t kernel_time(clockid_t clock) {
  timespec time{};
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::int64_t setting(const char* variable, std::int64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::atol(text);
}

// The offset between two clocks, and their rates.
struct Change {
  explicit Change(clockid_t clock) : kernel{kernel_time(clock)} {}

  std::int64_t kernel;
  std::int64_t program = kernel + setting("MOVED_CLOCK_DAYS", 0) * 86'400 * 1'000'000'000;
  std::int64_t rate = setting("MOVED_CLOCK_RATE", 1);
};

const Change& real_time() {
  static const Change change{CLOCK_REALTIME};
  return change;
}

const Change& monotonic_time() {
  static const Change change{CLOCK_MONOTONIC};
  return change;
}

timespec to_timespec(std::int64_t nanoseconds) {
  std::int64_t seconds = nanoseconds / 1'000'000'000;
  if (nanoseconds % 1'000'000'000 < 0) --seconds;
  return {seconds, nanoseconds - seconds * 1'000'000'000};
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const Change& change = clock == CLOCK_REALTIME ? real_time() : monotonic_time();
  *time = to_timespec(change.program + (kernel_time(clock) - change.kernel) * change.rate);
  return 0;
}

int sem_timedwait(sem_t* sem, const timespec* deadline) {
  using Function = int(sem_t*, const timespec*);
  static auto* const passed_on = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "sem_timedwait"));
  const Change& change = real_time();
  const std::int64_t given = deadline->tv_sec * std::int64_t{1'000'000'000} + deadline->tv_nsec;
  // Rounded up: not before the deadline.
  const timespec until = to_timespec(change.kernel + (given - change.program) / change.rate + 1);
  return passed_on(sem, &until);
}

}  // extern "C"
