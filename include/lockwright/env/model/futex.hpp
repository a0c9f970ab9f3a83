// The kernel's futex: sleeping on a word and waking its sleepers.
#pragma once

#include <cstdint>

#include <relacy/waitset.hpp>

#include "lockwright/env/model/atomic.hpp"
#include "lockwright/env/model/location.hpp"

namespace lockwright::model_env {

/// The sleepers by address, not by object: a late wake reaches the thread that sleeps at the same
/// address by then.
///
/// Relacy's own futex is not used. It orders memory by the sleep and the wake,
/// which futex(2) does not promise, and would hide an order that a lock lacks.
class sleepers {
 public:
  void begin() { used_ = 0; }

  void sleep(const void* word, const rl::debug_info& info) {
    slot_of(word).set.park_current(rl::ctx(), false, false, false, info);
  }

  /// True if no thread woke it, and no other thread could proceed.
  bool sleep_a_while(const void* word, const rl::debug_info& info) {
    return slot_of(word).set.park_current(rl::ctx(), true, false, false, info) ==
           rl::unpark_reason_timeout;
  }

  void wake(const void* word, std::uint32_t count, const rl::debug_info& info) {
    wait_slot& b = slot_of(word);
    while (count-- != 0 && b.set.unpark_one(rl::ctx(), info)) {
    }
  }

 private:
  struct wait_slot {
    const void* word = nullptr;
    rl::waitset<max_threads> set;
  };

  /// The wait slot for `word`; an empty one becomes it. There is one per thread and
  /// one for the caller, so one is always empty.
  wait_slot& slot_of(const void* word) {
    wait_slot* empty = nullptr;
    for (std::uint32_t i = 0; i < used_; ++i) {
      if (wait_slots_[i].set.size() == 0) {
        empty = &wait_slots_[i];
      } else if (wait_slots_[i].word == word) {
        return wait_slots_[i];
      }
    }
    if (empty == nullptr) {
      empty = &wait_slots_[used_++];
      empty->set = {};
    }
    empty->word = word;
    return *empty;
  }

  std::uint32_t used_ = 0;
  wait_slot wait_slots_[max_threads + 1];
};

inline sleepers sleepers_now;

/// The comparison before a sleep; false if the thread does not sleep. It reads the latest value:
/// the kernel makes it under the lock under which a wake searches for sleepers. Of a larger word
/// the kernel compares the half from the bit `Shift` on.
template <unsigned Shift, class T>
bool is_to_sleep(atomic<T>& word, std::uint32_t expected, const location& at) {
  if (!word.has_half(expected, Shift, at)) {
    return false;
  }
  thread_state& me = this_thread();
  if (settings_now.spurious && !me.woke_early && choose(2) == 1) {
    me.woke_early = true;
    return false;
  }
  return true;
}

/// The address of the half of a word from the bit `Shift` on.
template <unsigned Shift, class T>
const void* half_of(const atomic<T>& word) {
  return reinterpret_cast<const unsigned char*>(&word) + Shift / 8;
}

/// Compares and sleeps in one step.
template <unsigned Shift = 0, class T>
void futex_wait(atomic<T>& word, std::uint32_t expected, const location& at) {
  {
    const step now({next_step::change, &word});
    if (!is_to_sleep<Shift>(word, expected, at)) {
      return;
    }
  }
  const pause asleep;
  record(event::sleep, "", &word, expected, at);
  sleepers_now.sleep(half_of<Shift>(word), relacy_info(at));
  record(event::awake, "", &word, 0, at);
}

/// The same with a deadline; true if that ended the sleep. A sleeper whose deadline comes takes no
/// wake from the others, so one that gives up soon is modelled as not sleeping at all. That happens
/// to each thread at most twice, so that a loop of such sleeps gives a finite number of executions.
template <unsigned Shift = 0, class T>
bool futex_wait_a_while(atomic<T>& word, std::uint32_t expected, const location& at) {
  {
    const step now({next_step::change, &word});
    if (!is_to_sleep<Shift>(word, expected, at)) {
      return false;
    }
    thread_state& me = this_thread();
    if (me.gave_up_early < 2 && choose(2) == 1) {
      ++me.gave_up_early;
      return true;
    }
  }
  const pause asleep;
  if (!settings_now.reduced) {
    // Relacy's own searches would end such a sleep again and again with no other thread in between.
    rl::yield(1, relacy_info(at));
    return true;
  }
  record(event::sleep, "", &word, expected, at);
  const bool late = sleepers_now.sleep_a_while(half_of<Shift>(word), relacy_info(at));
  record(event::awake, late ? "its deadline has come" : "", &word, 0, at);
  return late;
}

/// Only the word's address is used: the word itself may be destroyed.
template <unsigned Shift = 0, class T>
void futex_wake(atomic<T>& word, std::uint32_t count, const location& at) {
  reached.note(operation::wake, at, std::memory_order_relaxed, std::memory_order_relaxed);
  if (drops(at)) {
    return;
  }
  const step now({next_step::change, &word});
  if (settings_now.watched && execution_now.node_number(&word) == 0) {
    // A race detector counts it as an access. It does not see that nodes have an end.
    static_cast<void>(word.has_half(0, Shift, at));
  }
  record(event::wake, "", &word, count, at);
  sleepers_now.wake(half_of<Shift>(word), count, relacy_info(at));
}

}  // namespace lockwright::model_env
