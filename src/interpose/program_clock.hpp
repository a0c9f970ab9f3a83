// Which clock the program's deadlines go by. A library such as libfaketime provides clock_gettime
// in the place of the C library's, and the program computes its deadlines by that one; the kernel
// knows nothing of it, nor does the C library. Some functions with a deadline such a library
// provides too: if it comes before us it passes them on with a deadline by the kernel's clock.
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

/// One bit for each function: its deadlines go by clock_gettime() as the program calls it, which is
/// not the kernel's. None in most programs. Written when the library is loaded.
inline constinit std::uint32_t by_program_clock = 0;

/// A clock that a deadline goes by.
struct deadline_clock {
  clockid_t id;
  bool is_programs;  ///< and is not the kernel's; it may run at another rate, and jump
};

inline deadline_clock clock_of(timed function, clockid_t id) {
  return {id, (by_program_clock >> static_cast<unsigned>(function) & 1) != 0};
}

/// Finds out whose clock_gettime() the program calls.
void find_program_clock();

}  // namespace lockwright::interpose
