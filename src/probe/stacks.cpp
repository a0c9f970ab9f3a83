#include "probe/stacks.hpp"

#include <unwind.h>

#include "probe/records.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

struct walked {
  std::uint64_t caller;
  unsigned most;
  unsigned inner;  ///< frames of this library, which are left out
  unsigned frames;
  std::uint64_t pcs[stack::depth];
};

/// So many frames of this library at most are below the caller.
constexpr unsigned most_inner = 12;

_Unwind_Reason_Code step(_Unwind_Context* context, void* to) {
  auto& so_far = *static_cast<walked*>(to);
  const std::uint64_t pc = _Unwind_GetIP(context);
  if (so_far.frames == 0 && pc != so_far.caller) {
    return ++so_far.inner < most_inner ? _URC_NO_REASON : _URC_END_OF_STACK;
  }
  if (pc == 0) {
    return _URC_END_OF_STACK;
  }
  so_far.pcs[so_far.frames++] = pc;
  return so_far.frames < so_far.most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

walked walk_from(std::uint64_t caller, unsigned most) {
  walked found{.caller = caller, .most = most, .inner = 0, .frames = 0, .pcs = {}};
  _Unwind_Backtrace(step, &found);
  return found;
}

/// Finds the entry of a table that has the stack, or makes it; returns its number plus one.
template <typename Entry, std::uint32_t numbers>
std::uint32_t entry_of(profile_buffer* target, Entry (&table)[numbers], const walked& found,
                       std::uint32_t Entry::* member, std::uint32_t of) {
  if (found.frames == 0) {
    return 0;
  }
  std::uint64_t hash = of + 1;
  for (unsigned i = 0; i < found.frames; ++i) {
    hash = (hash ^ found.pcs[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  hash |= 1;
  for (std::uint64_t tries = 0; tries < 32; ++tries) {
    const std::uint64_t at = (hash + tries) % numbers;
    Entry& one = table[at];
    std::uint64_t present = one.hash.load(std::memory_order_relaxed);
    if (present == 0 && one.hash.compare_exchange_strong(present, hash)) {
      one.*member = of;
      for (unsigned i = 0; i < found.frames; ++i) {
        one.pcs[i] = found.pcs[i];
        if (target != nullptr) {
          note_module(*target, found.pcs[i]);
        }
      }
      one.frames = found.frames;
      present = hash;
    }
    if (present == hash) {
      return static_cast<std::uint32_t>(at) + 1;
    }
  }
  return 0;
}

}  // namespace

std::uint32_t walk(profile_buffer& target, std::uint32_t record, std::uint64_t caller) {
  const walked found = walk_from(caller, stack::depth);
  return entry_of(&target, target.stacks, found, &stack::record, record);
}

std::uint32_t walk_init_stack(init_table& inits, std::uint32_t init_site, std::uint64_t caller) {
  const walked found = walk_from(caller, init_stack::depth);
  return entry_of(attached(), inits.stacks, found, &init_stack::init_site, init_site);
}

}  // namespace lockwright::probe
