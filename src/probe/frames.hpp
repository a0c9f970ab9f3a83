// Decides from the unwinding tables whether the compiler's unwinder can step from one frame to the
// next. It reads the return address where the tables say that it is, mapped or not; the stack of a
// coroutine may begin with an address to which nothing returns, in its last words.
#pragma once

#include <unwind.h>

#include <cstdint>

namespace lockwright::probe {

struct outer_frame {
  std::uint64_t pc;   ///< 0 if there is none
  bool is_reachable;  ///< the unwinder can step to it
};

/// Returns the frame that the context's frame returns to. Only a readable stack and, after a call
/// of it, code count.
outer_frame outer_frame_of(_Unwind_Context* context);

}  // namespace lockwright::probe
