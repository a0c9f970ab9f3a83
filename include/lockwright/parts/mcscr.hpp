// MCSCR: an MCS queue whose unlock removes threads from circulation and recalls them. malth.hpp
// describes the algorithm; the parameter Bystanders is the policy that chooses these threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/passive_set.hpp"
#include "lockwright/parts/restriction.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// Bystanders<Env, node> is the holder's view of the passive threads. It is made from its fields in
/// the holder's node, changed, and stored in the next holder's node, or in the tail of a free lock.
template <class Env, template <class> class Wait, template <class, class> class Bystanders>
class mcscr {
  struct node;
  using bystanders = Bystanders<Env, node>;

  enum : std::uint8_t { lock_, recall_, favour_ };             // grant
  enum : std::uint8_t { arrived_, was_recalled_, favoured_ };  // rank

  struct alignas(64) node : passive_member<Env, node>, bystanders::fields {
    typename Env::template atomic<node*> next{};
    typename Env::template plain<std::uint8_t> grant{};
    typename Env::template plain<std::uint8_t> rank{};
    Wait<Env> cell;
  };

 public:
  static constexpr std::uint32_t node_bytes = sizeof(node);
  /// With fewer threads no unlock finds more than one set aside.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr auto tunables = join(tunable_list<1>{&fairness}, Wait<Env>::tunables);

  arrival lock() {
    arrival found = arrival::uncontended;
    arrive([&found](cell_type& cell) {
      found = arrival::contended;
      cell.wait();
      return true;
    });
    return found;
  }

  bool try_lock_until(std::uint64_t deadline)
    requires LeavableWait<Wait<Env>>
  {
    return arrive([deadline](cell_type& cell) { return cell.wait_until(deadline); });
  }

  bool try_lock() {
    node* seen = tail_.load(std::memory_order_relaxed);
    if (!bystanders::is_free(seen)) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->rank = arrived_;
    bystanders::arrives(*me);
    // As the exchange in enqueue(). The cell is not armed: no thread grants the first node.
    if (tail_.compare_exchange_strong(seen, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      enter(me, seen);
      return true;
    }
    Env::give_node(me);
    return false;
  }

  void unlock() {
    node* me = holder_;
    node* last = me;
    // Release pairs with the acquire in enqueue() and try_lock() that finds null.
    if (!bystanders::none(*me) || tail_.load(std::memory_order_relaxed) != me ||
        !tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      me = pass_on(me);
    }
    Env::give_node(me);
  }

 private:
  using cell_type = Wait<Env>;

  static constexpr bool parks_ = Wait<Env>::policy != waiting::spin;

  /// True if the waiter sleeps: a handover to it takes long.
  static bool sleeps(node* waiter) {
    if constexpr (parks_) {
      return waiter->cell.asleep();
    } else {
      return false;
    }
  }

  /// Queues, and waits by `await`, which returns false if the caller has left.
  template <class Await>
  [[gnu::always_inline]] bool arrive(Await await) {
    node* me = Env::template take_node<node>();
    me->rank = arrived_;
    bystanders::arrives(*me);
    node* before = enqueue(me);
    if (bystanders::is_free(before)) {
      enter(me, before);
      return true;
    }
    return wait_behind(before, me, await);
  }

  /// Returns the previous last node of the queue.
  node* enqueue(node* me) {
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    // Release publishes the node (pairs with the acquire of next and tail by others); acquire pairs
    // with the release in unlock() and pass_on() that freed the lock.
    return tail_.exchange(me, std::memory_order_acq_rel);
  }

  /// The lock was free, with `before` as its tail.
  void enter(node* me, node* before) {
    bystanders::taken_over(*me, before);
    holder_ = me;
  }

  template <class Await>
  [[gnu::noinline]] bool wait_behind(node* before, node* me, Await await) {
    for (;;) {
      // Release pairs with the acquire loads of next in unlock.
      before->next.store(me, std::memory_order_release);
      if (!await(me->cell)) {
        return false;
      }
      if (me->grant == lock_) {
        holder_ = me;
        break;
      }
      me->rank = me->grant == favour_ ? favoured_ : was_recalled_;
      before = enqueue(me);
      if (bystanders::is_free(before)) {
        enter(me, before);
        break;
      }
    }
    record_recall(me);
    return true;
  }

  /// Called for the holder: if it was recalled it has come.
  static void record_recall(node* me) {
    if (me->rank != arrived_) {
      bystanders rest(*me);
      rest.recalled = false;
      rest.leave_to(*me);
    }
  }

  /// The unlock of a holder that has waiters, and of each waiter that has left and is next.
  /// Returns the node of the last of these.
  [[gnu::noinline]] node* pass_on(node* me) {
    node* heir = nullptr;  // to be recalled, once the lock is released
    for (;;) {
      bystanders rest(*me);
      node* next = nullptr;
      if (heir == nullptr && !rest.empty() && Env::chance(Env::template value<fairness>())) {
        next = rest.by_chance();
        rest.take(next);
        if (sleeps(next) && next->cell.keep()) {
          next->grant = favour_;
          heir = next;
          next = nullptr;
        } else {
          graft(me, next);
        }
      }
      if (next == nullptr) {
        next = choose(me, rest, heir);
      }
      // From here on the lock may be destroyed, unless a thread is next or recalled.
      if (next == nullptr) {
        break;
      }
      rest.leave_to(*next);
      next->grant = lock_;
      if (next->cell.grant()) {
        break;
      }
      Env::give_node(me);
      me = next;
      record_recall(me);
    }
    if (heir != nullptr) {
      heir->cell.grant();
    }
    return me;
  }

  /// Culls the queue. The first node that remains, or null when the lock has
  /// become free; then `heir` is to be recalled, if it is a thread.
  node* choose(node* me, bystanders& rest, node*& heir) {
    bool culled = false;
    node* last = me;  // the node before `next`, in the queue or culled
    // Acquire, here and below, pairs with the release store in wait_behind().
    node* next = me->next.load(std::memory_order_acquire);
    for (;;) {
      while (next != nullptr && next->rank != favoured_ && !next->cell.has_left()) {
        node* after = next->next.load(std::memory_order_acquire);
        if (!sleeps(next) && !rest.displaces(next, after == nullptr, sleeps)) {
          // A node between the holder and the last: one of these is culled at a time.
          if (culled || after == nullptr) {
            break;
          }
          culled = true;
        }
        cull(next, rest);
        last = next;
        next = after;
      }
      if (next != nullptr) {
        return next;
      }
      // No thread that is awake waits in the queue, and `last` is the tail. One that has left counts
      // as awake: the lock is handed to it, and so to this thread.
      if (!rest.empty()) {
        node* candidate = rest.next();
        if (!sleeps(candidate)) {
          rest.take(candidate);
          // The last one was culled asleep, and is still in its place if it has left since.
          if (candidate != last) {
            graft(last, candidate);
          }
          return candidate;
        }
        if (heir == nullptr && !rest.recalled) {
          if (!candidate->cell.keep()) {
            continue;
          }
          rest.take(candidate);
          candidate->grant = recall_;
          heir = candidate;
        }
      }
      // Where all waiters poll the set is empty here, and unlock() has tried this before.
      if (parks_) {
        rest.recalled = rest.recalled || heir != nullptr;
        node* seen = last;
        // Release, as in unlock(); the passive set goes with the lock.
        if (tail_.compare_exchange_strong(seen, rest.left_free(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
          return nullptr;
        }
      }
      next = await_link<Wait<Env>>(last->next);
    }
  }

  static void cull(node* waiter, bystanders& rest) {
    if (waiter->rank == was_recalled_) {
      rest.recalled = false;
    }
    rest.put(waiter);
  }

  /// Puts `waiter` into the queue behind `before`.
  void graft(node* before, node* waiter) {
    waiter->next.store(nullptr, std::memory_order_relaxed);
    node* seen = before;
    // Release publishes what was done to `waiter`, as in enqueue(). Nothing is acquired.
    if (!tail_.compare_exchange_strong(seen, waiter, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      // Relaxed: the thread that reads it gets it by a grant.
      waiter->next.store(await_link<Wait<Env>>(before->next), std::memory_order_relaxed);
    }
  }

  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
