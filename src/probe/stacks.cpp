#include "probe/stacks.hpp"

#include <unwind.h>

#include "probe/frames.hpp"
#include "probe/records.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

struct walk_state {
  std::uint64_t caller;
  unsigned max_frames;
  unsigned inner;  ///< frames of this library, which are left out
  unsigned frames;
  std::uint64_t pcs[stack::depth];
};

/// The most frames of this library below the caller.
constexpr unsigned max_inner = 12;

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  auto& state = *static_cast<walk_state*>(argument);
  const std::uint64_t pc = _Unwind_GetIP(context);
  if (state.frames == 0 && pc != state.caller) {
    return ++state.inner < max_inner ? _URC_NO_REASON : _URC_END_OF_STACK;
  }
  if (pc == 0) {
    return _URC_END_OF_STACK;
  }
  state.pcs[state.frames++] = pc;
  if (state.frames == state.max_frames) {
    return _URC_END_OF_STACK;
  }
  const outer_frame outer = outer_frame_of(context);
  if (!outer.is_reachable && outer.pc != 0) {
    state.pcs[state.frames++] = outer.pc;
  }
  return outer.is_reachable ? _URC_NO_REASON : _URC_END_OF_STACK;
}

walk_state walk_from(std::uint64_t caller, unsigned max_frames) {
  walk_state found{.caller = caller, .max_frames = max_frames, .inner = 0, .frames = 0, .pcs = {}};
  _Unwind_Backtrace(step, &found);
  return found;
}

/// Finds or creates the table entry of a stack; returns its number plus one.
template <typename Entry, std::uint32_t capacity>
std::uint32_t entry_of(profile_buffer* target, Entry (&table)[capacity], const walk_state& found,
                       std::uint32_t Entry::* member, std::uint32_t owner) {
  if (found.frames == 0) {
    return 0;
  }
  std::uint64_t hash = owner + 1;
  for (unsigned i = 0; i < found.frames; ++i) {
    hash = (hash ^ found.pcs[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  hash |= 1;
  for (std::uint64_t tries = 0; tries < 32; ++tries) {
    const std::uint64_t index = (hash + tries) % capacity;
    Entry& entry = table[index];
    std::uint64_t present = entry.hash.load(std::memory_order_relaxed);
    if (present == 0 && entry.hash.compare_exchange_strong(present, hash)) {
      entry.*member = owner;
      for (unsigned i = 0; i < found.frames; ++i) {
        entry.pcs[i] = found.pcs[i];
        if (target != nullptr) {
          note_module(*target, found.pcs[i]);
        }
      }
      entry.frames = found.frames;
      present = hash;
    }
    if (present == hash) {
      return static_cast<std::uint32_t>(index) + 1;
    }
  }
  return 0;
}

}  // namespace

std::uint32_t walk(profile_buffer& target, std::uint32_t record, std::uint64_t caller) {
  const walk_state found = walk_from(caller, stack::depth);
  return entry_of(&target, target.stacks, found, &stack::record, record);
}

std::uint32_t walk_init_stack(init_table& inits, std::uint32_t init_site, std::uint64_t caller) {
  const walk_state found = walk_from(caller, init_stack::depth);
  return entry_of(attached(), inits.stacks, found, &init_stack::init_site, init_site);
}

}  // namespace lockwright::probe
