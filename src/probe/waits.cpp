#include "probe/waits.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <utility>

#include "interpose/real.hpp"
#include "probe/account.hpp"
#include "probe/clock.hpp"
#include "probe/records.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

/// Waits after which a process without a file gets one.
constexpr std::uint32_t waits_for_file = 16;
constinit std::atomic<std::uint32_t> waits_without_file{0};

/// Waits of an object, and ends of its waits, whose stacks are all walked.
constexpr std::uint64_t always_walked = 8;

/// What identifies an object in the table: an address in user space has no bits above the 47th.
std::uint64_t key_of(std::uint32_t kind, const void* object) {
  return reinterpret_cast<std::uint64_t>(object) | std::uint64_t{kind} << 56;
}

constexpr std::uint32_t own_objects = profile_buffer::object_numbers - wait_object::kinds;
constexpr int most_tries = 64;

/// Returns the entry of an object; null if it has none. create: it gets one, or that of all objects
/// of its kind if there is no room.
wait_object* object_of(profile_buffer& target, std::uint32_t kind, const void* object,
                       bool create) {
  const std::uint64_t key = key_of(kind, object);
  std::uint64_t place = key * 0x9e3779b97f4a7c15 >> 32;
  for (int tries = 0; tries < most_tries; ++tries, ++place) {
    wait_object& entry = target.objects[place % own_objects];
    std::uint64_t present = entry.key.load(std::memory_order_relaxed);
    if (present == 0 && create && entry.key.compare_exchange_strong(present, key)) {
      note_module(target, reinterpret_cast<std::uint64_t>(object));
      present = key;
    }
    if (present == key) {
      return &entry;
    }
    if (present == 0) {
      return nullptr;
    }
  }
  return &target.objects[own_objects + kind - 1];
}

std::uint32_t number_of(const profile_buffer& target, const wait_object& object) {
  return static_cast<std::uint32_t>(&object - target.objects);
}

/// Adds to a count. is_alone: no other thread changes it at the same time.
template <class Count>
void add(std::atomic<Count>& count, Count value, bool is_alone) {
  if (is_alone) {
    count.store(count.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  } else {
    count.fetch_add(value, std::memory_order_relaxed);
  }
}

/// Adds a wait to the entry of a caller, if there is room.
void note_site(profile_buffer& target, wait_site (&sites)[wait_object::site_numbers],
               std::uint64_t caller, std::uint64_t waited, bool is_alone) {
  for (wait_site& each : sites) {
    std::uint64_t present = each.caller.load(std::memory_order_relaxed);
    if (present == 0 && each.caller.compare_exchange_strong(present, caller)) {
      note_module(target, caller);
      present = caller;
    }
    if (present == caller) {
      add(each.times, std::uint64_t{1}, is_alone);
      add(each.waited, waited, is_alone);
      return;
    }
  }
}

/// Adds a wait to the sums of an object and of the thread.
void note_wait(profile_buffer& target, thread_slot& thread, wait_object& object,
               std::uint64_t caller, std::uint64_t waited, bool is_alone) {
  const std::uint32_t number = number_of(target, object) + 1;
  add(object.waits, std::uint64_t{1}, is_alone);
  add(object.waited, waited, is_alone);
  if (!note_awaited(thread.awaited, number, waited, true)) {
    thread.object_waited[kind_of(target, number) - 1] += waited;
  }
  note_site(target, object.waiters, caller, waited, is_alone);
}

/// Stores the thread of a call that may end waits: that of the last one, and one of those that do.
void note_waking(wait_object& object, const thread_slot& thread) {
  const std::uint32_t number = thread.number + 1;
  for (auto* each : {&object.last_thread, &object.waking[number % wait_object::waking_numbers]}) {
    if (each->load(std::memory_order_relaxed) != number) {
      each->store(number, std::memory_order_relaxed);
    }
  }
}

/// Returns the buffer, which a process without one gets after some waits; null if there is none.
/// thread: a slot of the buffer, but where an acquisition has to take it, for the counts that it
/// moves.
profile_buffer* buffer_for_wait(thread_slot*& thread) {
  profile_buffer* target = attach();
  if (target == nullptr && waits_without_file.fetch_add(1) >= waits_for_file) {
    slot_for_call();
    target = request_buffer(true);
  }
  if (target != nullptr && this_slot == &unassigned_slot && !has_unmoved_counts()) {
    assign_slot();
  }
  thread = this_slot != &unassigned_slot ? this_slot : &slot_outside();
  return target;
}

}  // namespace

std::uint32_t kind_of(const profile_buffer& target, std::uint64_t object) {
  const std::uint64_t key = target.objects[object - 1].key.load(std::memory_order_relaxed);
  const std::uint64_t kind = key != 0 ? key >> 56 : object - own_objects;
  // The program may have overwritten the records.
  return kind >= 1 && kind <= wait_object::kinds ? static_cast<std::uint32_t>(kind)
                                                 : wait_object::futex;
}

object_wait::object_wait(std::uint32_t kind, const void* object, std::uint64_t caller)
    : kind_(kind), caller_(caller) {
  target_ = buffer_for_wait(thread_);
  if (target_ == nullptr) {
    return;
  }
  object_ = object_of(*target_, kind, object, true);
  const std::uint32_t number = number_of(*target_, *object_);
  // A wait for a condition variable begins and ends with its mutex held, and so needs no atomic
  // instructions; one that is cancelled ends without, and a count may be lost.
  is_alone_ = kind == wait_object::condition && number < own_objects;
  add(object_->waiting, 1U, is_alone_);
  called_ = begin_ = ticks();
  const bool is_rare = object_->waits.load(std::memory_order_relaxed) < always_walked;
  stack_ = stack_if_due(*target_, *thread_, profile_buffer::record_numbers + number, caller, begin_,
                        is_rare);
  begin_ = stack_ != 0 ? ticks() : begin_;
  thread_->object_since = begin_;
  thread_->object_caller = caller;
  __atomic_store_n(&thread_->object, number + 1, __ATOMIC_RELEASE);
}

void object_wait::withdraw() {
  if (target_ != nullptr) {
    __atomic_store_n(&thread_->object, 0, __ATOMIC_RELEASE);
    add(object_->waiting, ~0U, is_alone_);
  }
}

std::uint64_t object_wait::end(bool given_up) {
  profile_buffer* const target = target_;
  if (target == nullptr) {
    return 0;
  }
  const std::uint64_t now = ticks();
  withdraw();
  target_ = nullptr;
  const std::uint64_t waited = now - begin_;
  wait_object& object = *object_;
  note_wait(*target, *thread_, object, caller_, waited, is_alone_);
  if (stack_ != 0) {
    stack& walked = target->stacks[stack_ - 1];
    walked.waits.fetch_add(1, std::memory_order_relaxed);
    walked.waited.fetch_add(waited, std::memory_order_relaxed);
  }
  if (kind_ != wait_object::condition) {
    // Nothing is called at the end of a thread, which pays before it.
    const std::uint64_t address = object.key.load(std::memory_order_relaxed) << 8 >> 8;
    waits_.end(!given_up,
               kind_ == wait_object::join ? nullptr : reinterpret_cast<const void*>(address),
               nullptr, nullptr, speedup::spares_waits(object));
  }
  if (given_up) {
    add(object.given_up, std::uint64_t{1}, is_alone_);
    return now;
  }
  const std::uint64_t woken = object.last_wake.load(std::memory_order_acquire);
  if (woken >= begin_ && woken <= now) {
    note_site(*target, object.wakers, object.last_waker.load(std::memory_order_relaxed), waited,
              is_alone_);
    add(object.resumed, std::uint64_t{1}, is_alone_);
    add(object.resuming, now - woken, is_alone_);
  }
  return now;
}

void end_cancelled_wait(profile_buffer& target, thread_slot& thread) {
  if (const std::uint32_t number = std::exchange(thread.object, 0); number != 0) {
    wait_object& object = target.objects[number - 1];
    object.waiting.fetch_sub(1, std::memory_order_relaxed);
    note_wait(target, thread, object, thread.object_caller, ticks() - thread.object_since, false);
  }
}

void note_wake(std::uint32_t kind, const void* object, std::uint64_t caller, bool can_walk) {
  speedup::note_wake(object);
  profile_buffer* target = attached();
  wait_object* known = target != nullptr ? object_of(*target, kind, object, false) : nullptr;
  if (known == nullptr || known->waiting.load(std::memory_order_relaxed) == 0) {
    return;
  }
  if (can_walk && this_slot == &unassigned_slot && !has_unmoved_counts()) {
    assign_slot();
  }
  thread_slot& thread = *this_slot;
  std::uint64_t now = ticks();
  const bool is_known = thread.number != no_number && &thread != &unassigned_slot;
  if (is_known) {
    note_waking(*known, thread);
  }
  if (can_walk && is_known) {
    constexpr std::uint32_t of_wakers =
        profile_buffer::record_numbers + profile_buffer::object_numbers;
    const std::uint32_t number = of_wakers + number_of(*target, *known);
    const bool is_rare = known->resumed.load(std::memory_order_relaxed) < always_walked;
    if (const std::uint32_t walked = stack_if_due(*target, thread, number, caller, now, is_rare);
        walked != 0) {
      target->stacks[walked - 1].waits.fetch_add(1, std::memory_order_relaxed);
      now = ticks();
    }
  }
  known->last_waker.store(caller, std::memory_order_relaxed);
  known->last_wake.store(now, std::memory_order_release);
}

long follow_futex(std::uint64_t caller, const long (&arguments)[6]) {
  const auto call = [&arguments] {
    return interpose::real.syscall(SYS_futex, arguments[0], arguments[1], arguments[2],
                                   arguments[3], arguments[4], arguments[5]);
  };
  const auto* word = reinterpret_cast<const void*>(arguments[0]);
  switch (arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_UNLOCK_PI:
    case FUTEX_CMP_REQUEUE_PI:
      note_wake(wait_object::futex, word, caller);
      return call();
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
      break;
    default:
      return call();
  }
  object_wait wait(wait_object::futex, word, caller);
  const long result = call();
  const int error = errno;
  if (result == -1 && error == EAGAIN) {
    wait.withdraw();
  } else {
    wait.end(result == -1 && error == ETIMEDOUT);
  }
  errno = error;
  return result;
}

}  // namespace lockwright::probe
