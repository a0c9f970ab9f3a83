// The clock of the program's deadlines. A library such as libfaketime replaces clock_gettime, by
// which the program computes its deadlines; the kernel and the C library do not use that clock.
// Such a library also replaces some functions with a deadline: if it is loaded before this one, it
// calls them with a deadline by the kernel's clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace lockwright::interpose {

/// The functions with a deadline, each of which another library may have converted.
enum class timed : std::uint8_t {
  mutex_timedlock,
  mutex_clocklock,
  cond_timedwait,
  cond_clockwait,
  sem_timedwait,
  sem_clockwait,
  rwlock_timedrdlock,
  rwlock_clockrdlock,
  rwlock_timedwrlock,
  rwlock_clockwrlock,
  mtx_timedlock,
  cnd_timedwait,
  end
};

/// One bit for each function whose deadlines are on the program's clock_gettime(), where that is
/// not the kernel's. None in most programs. Set when the library is loaded.
inline constinit std::uint32_t by_program_clock = 0;

/// The clock of a deadline.
struct deadline_clock {
  clockid_t id;
  bool replaced;  ///< by the program; it may run at another rate than the kernel's, and jump
};

inline deadline_clock clock_of(timed function, clockid_t id) {
  return {id, (by_program_clock >> static_cast<unsigned>(function) & 1) != 0};
}

/// Sets native_env::kernel_clock.
void find_kernel_clock();

/// Finds the object whose clock_gettime() the program calls, and sets by_program_clock.
void find_program_clock();

}  // namespace lockwright::interpose
