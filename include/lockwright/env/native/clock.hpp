// The kernel's clocks.
#pragma once

#include <time.h>

namespace lockwright::native_env {

using clock_function = int(clockid_t, timespec*);

/// clock_gettime() of the C library. Where another library replaces it, for a time that is not the
/// kernel's, src/interpose/program_clock.cpp stores the C library's here.
inline constinit clock_function* kernel_clock = clock_gettime;

}  // namespace lockwright::native_env
