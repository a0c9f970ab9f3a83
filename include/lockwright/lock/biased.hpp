// biased: a lock in front of another lock. The first thread that takes it owns a fast path without
// an atomic update until a second thread arrives; from then on only the inner lock is used.
//
// Citation: D. Dice, M. Moir, W. Scherer, "Quickly Reacquirable Locks", Sun Microsystems, 2003; the
// asymmetric barrier of the fast path as in N. Vasudevan, K. Namjoshi, S. Edwards, "Simple and Fast
// Biased Locks", PACT 2010, where a lock is not biased again either.
//
//   word   | meaning                                       | written by
//   owner  | 0: no thread has had the lock yet             | -
//          | a thread: biased to that one                  | the first thread
//          | revoking: biased until its owner is out       | the inner lock's holder
//          | revoked: only the inner lock is used          | the same
//   inside | 1 while the owner is inside or tries to enter | the owner, or its unlocker
//          | 2 if the revoker sleeps until that is over    | the revoker, from 1
//   inner  | the other lock                                | see there
//
//   owner: 0 ---> a thread ---> revoking ---> revoked
//
// Invariants
//   GATE       no thread but the owner is inside while `owner` is not `revoked`,
//              and a holder after that has the inner lock. So an unlock
//              knows from `owner` which of the two to release.
//   BIAS       the owner sets `inside`, and enters only if it is still the owner; the revoker sets
//              `revoking`, and proceeds only if no thread is inside. Each has one of a pair of
//              barriers between its two steps, so not both proceed.
//   ONE-REVOKER  only the holder of the inner lock revokes, and so only one
//              thread waits for the owner to leave.
//   NO-LONG-SLEEP  an unlock by the fast path wakes the revoker if it reads `revoking`. One
//              that read `owner` before that was set does not, so the revoker sleeps for
//              bounded times, each twice the last.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// A lock with no state in place, for `outside`.
template <class L>
class out_of_place {
 public:
  static constexpr lock_traits traits = L::traits;
  static constexpr auto tunables = L::tunables;

  struct part {
    L lock;

    static std::size_t bytes() { return sizeof(part); }
  };

  static arrival lock(part& all) { return all.lock.lock(); }
  static bool try_lock(part& all) { return all.lock.try_lock(); }
  static bool try_lock_until(part& all, std::uint64_t deadline)
    requires TimedLock<L>
  {
    return all.lock.try_lock_until(deadline);
  }
  static void unlock(part& all) { all.lock.unlock(); }
};

/// The traits of a biased lock; `summary` is that of its row.
constexpr lock_traits biased_traits(const lock_traits& inner, const char* summary) {
  lock_traits traits = inner;
  traits.category = category::load_control;
  traits.realtime = own_order_unless_polling(inner.waiting);  // The revoker comes first.
  traits.fifo = false;  // The owner may overtake a thread that is about to revoke.
  traits.yields = false;
  traits.low_traffic = false;
  traits.atomics = {.lock = 0, .unlock = 0};
  const char* const entry = "the first thread enters without an atomic operation";
  traits.suits = traits.light
                     ? suit_list{{{use_case::crowded, 16, "parks once a second thread has come"},
                                  {use_case::private_mutexes, 1, entry}}}
                     : suit_list{{{use_case::private_mutexes, 2, entry}}};
  traits.reference =
      "Dice, Moir and Scherer, Sun 2003; Vasudevan, Namjoshi "
      "and Edwards, PACT 2010";
  traits.summary = summary;
  return traits;
}

template <class Env, class Inner>
class biased {
 public:
  static constexpr lock_traits traits =
      biased_traits(Inner::traits,
                    "The first thread enters without any atomic update, until "
                    "a second one comes and the lock "
                    "becomes an ordinary one for good. For locks that one "
                    "thread uses; the change costs a "
                    "system call.");

  static constexpr tunable first_sleep{
      .name = "recheck-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 1'000,
      .max = 1'000'000'000,
      .model_value = 1'000'000,
      .meaning = "how long a revoking thread sleeps before it checks again, at first",
      .source =
          "about a scheduler's time slice, in which the owner's unlock "
          "has ended"};
  static constexpr auto tunables = [] {
    constexpr tunable_list<1> own{&first_sleep};
    if constexpr (requires { Inner::tunables; }) {
      return join(own, Inner::tunables);
    } else {
      return own;
    }
  }();

  static std::uint64_t bytes_outside() { return lockwright::bytes_outside<Inner>(); }

  // Inlined: the call would cost as much as the rest of the fast path.
  [[gnu::always_inline]] arrival lock() {
    if (enter_by_bias() || become_owner()) {
      return arrival::uncontended;
    }
    const arrival found = inner_.lock();
    if (owner_.load(std::memory_order_relaxed) != revoked_ && revoke() == arrival::contended) {
      return arrival::contended;
    }
    return found;
  }

  bool try_lock() { return enter_by_bias() || become_owner() || try_inner(); }

  bool try_lock_until(std::uint64_t deadline)
    requires TimedLock<Inner>
  {
    if (enter_by_bias() || become_owner()) {
      return true;
    }
    if (!inner_.try_lock_until(deadline)) {
      return false;
    }
    if (owner_.load(std::memory_order_relaxed) != revoked_ && !revoke_until(deadline)) {
      inner_.unlock();
      return false;
    }
    return true;
  }

  void unlock() {
    const std::uint32_t owner = owner_.load(std::memory_order_relaxed);
    if (owner == revoked_) {
      inner_.unlock();
      return;
    }
    // Release: hands the section's writes to the acquire in enter_by_bias(), or in is_empty().
    if (owner != revoking_) [[likely]] {
      inside_.store(0, std::memory_order_release);
    } else {
      leave_to_revoker();
    }
  }

 private:
  static constexpr std::uint32_t unowned_ = 0;
  static constexpr std::uint32_t revoking_ = Env::max_self + 1;
  static constexpr std::uint32_t revoked_ = Env::max_self + 2;

  static constexpr std::uint32_t asleep_ = 2;

  static constexpr std::uint64_t never_ = ~std::uint64_t{0};

  bool enter_by_bias() {
    const std::uint32_t me = Env::self();
    // Acquire: the last unlock may have been another thread's, on behalf of this one.
    if (owner_.load(std::memory_order_relaxed) != me ||
        inside_.load(std::memory_order_acquire) != 0) {
      return false;
    }
    inside_.store(1, std::memory_order_relaxed);
    Env::light_barrier();  // Pairs with the heavy one in close_gate().
    if (owner_.load(std::memory_order_relaxed) == me) [[likely]] {
      return true;
    }
    leave_to_revoker();
    return false;
  }

  [[gnu::noinline]] void leave_to_revoker() {
    if (inside_.exchange(0, std::memory_order_release) == asleep_) {
      Env::wake(inside_, 1);
    }
  }

  bool become_owner() { return owner_.load(std::memory_order_relaxed) == unowned_ && claim(); }

  [[gnu::noinline]] bool claim() {
    std::uint32_t unowned = unowned_;
    return owner_.compare_exchange_strong(unowned, Env::self(), std::memory_order_relaxed,
                                          std::memory_order_relaxed) &&
           enter_by_bias();
  }

  /// Out of line, so that the fast path is inlined.
  [[gnu::noinline]] bool try_inner() {
    if (looks_held_by_owner() || !inner_.try_lock()) {
      return false;
    }
    if (owner_.load(std::memory_order_relaxed) != revoked_ && !revoke_if_empty()) {
      inner_.unlock();
      return false;
    }
    return true;
  }

  [[nodiscard]] bool looks_held_by_owner() const {
    return owner_.load(std::memory_order_relaxed) != revoked_ &&
           inside_.load(std::memory_order_relaxed) != 0;
  }

  [[nodiscard]] bool is_empty() const { return inside_.load(std::memory_order_acquire) == 0; }

  /// From here on the owner does not enter. Called by the holder of the inner lock, like the
  /// functions below; a holder that gave up leaves the gate closed.
  void close_gate() {
    if (owner_.load(std::memory_order_relaxed) != revoking_) {
      owner_.store(revoking_, std::memory_order_relaxed);
      Env::heavy_barrier();
    }
  }

  bool revoke_if_empty() {
    close_gate();
    if (!is_empty()) {
      return false;
    }
    owner_.store(revoked_, std::memory_order_relaxed);
    return true;
  }

  [[gnu::noinline]] arrival revoke() {
    if (revoke_if_empty()) {
      return arrival::uncontended;
    }
    revoke_until(never_);
    return arrival::contended;
  }

  /// False if the deadline came first.
  [[gnu::noinline]] bool revoke_until(std::uint64_t deadline) {
    if (revoke_if_empty()) {
      return true;
    }
    if constexpr (Inner::traits.parks()) {
      // As the inner lock's waiters, of which some poll first.
      if constexpr (Inner::traits.waiting == waiting::spin_then_park) {
        const std::uint64_t end = Env::now() + Env::template value<spin_bound>();
        poll_until<Env>(end < deadline ? end : deadline, [this] { return is_empty(); });
      }
      std::uint64_t sleep = Env::template value<first_sleep>();
      while (!is_empty()) {
        const std::uint64_t now = Env::now();
        if (now >= deadline) {
          return false;
        }
        std::uint32_t seen = 1;
        // Relaxed: it announces only that the revoker sleeps. The 2 may be that of an earlier
        // revoker that gave up.
        if (inside_.compare_exchange_strong(seen, asleep_, std::memory_order_relaxed,
                                            std::memory_order_relaxed) ||
            seen == asleep_) {
          Env::wait_until(inside_, asleep_, sleep < deadline - now ? now + sleep : deadline);
          sleep *= 2;
        }
      }
    } else if (!poll_until<Env>(deadline, [this] { return is_empty(); })) {
      return false;
    }
    owner_.store(revoked_, std::memory_order_relaxed);
    return true;
  }

  typename Env::template atomic<std::uint32_t> owner_{};
  typename Env::template atomic<std::uint32_t> inside_{};
  Inner inner_;
};

}  // namespace lockwright
