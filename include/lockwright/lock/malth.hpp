// malth: an MCS queue that keeps few threads in circulation. An unlock that
// sees more waiters than the lock needs moves one aside, to the passive set;
// one that sees none takes one back, and by chance the oldest one comes first.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (MCSCR).
// The waiting policy is a parameter: malth-spin (MCSCR-S) polls, malth-stp
// (MCSCR-STP) polls and parks.
//
//   word   | meaning                                   | written by
//   tail   | last node of the queue; the lock is held  | arriving threads
//          | null: free, and nobody waits              | the last holder
//          | passive set, tagged free_: free, and      | the last holder
//          | whoever takes it takes the set too        |
//   holder | the holder's node                         | the holder, while inside
//
//   node    | meaning
//   next    | the node behind
//   older,  | the neighbours in the passive set
//   younger |
//   passive | in the holder's node: the passive set, tagged recalled_ while a
//           | thread that was recalled has not been inside
//   cell    | granted: the lock, or a recall
//   grant   | which of them
//   rank    | how its owner came to the queue: by itself, recalled, or favoured
//
// Locking is MCS's, as published, but for the recall. In unlock, in this order:
//   fairness  one time in `fairness` the oldest of the passive set comes next
//   cull      a node between the holder and the last one goes to the set
//   deficit   with nobody in the queue, the youngest of the set comes next
//
// Handing the lock to a sleeper keeps everybody out for as long as a wake
// takes, and those who arrive meanwhile fall asleep in turn, so that the next
// hand-over is to a sleeper again. With fewer processors than would saturate
// the lock this never ends. So in malth-stp nobody who sleeps is handed the
// lock: it goes to the passive set, and is recalled when it is to come next,
// which is the publication's anticipatory warm-up: it is woken and queues once
// more, while the lock goes to whoever is awake, or becomes free. One that was
// favoured by chance keeps its place in the queue, asleep or not. Hand-overs
// to waiters that poll, so all of malth-spin's, are as published.
//
// Invariants
//   EXCLUSION  the lock belongs to the owner of the first node of the queue.
//   OWN-NODE   a node is in the queue, in the passive set or recalled from its
//              first exchange on tail until its owner's unlock.
//   HEIR       when the lock becomes free with a passive set, a recalled thread
//              is on its way to it.
//   LINK       a node that is not the last gets its next pointer in a bounded
//              number of its successor's steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/await_link.hpp"
#include "lockwright/lock.hpp"
#include "lockwright/passive_set.hpp"
#include "lockwright/restriction.hpp"
#include "lockwright/tunable.hpp"
#include "lockwright/wait.hpp"

namespace lockwright {

template <class Env, template <class> class Wait>
class malth {
  struct node;

  static constexpr std::uintptr_t free_ = 1;
  static constexpr std::uintptr_t recalled_ = 2;

  enum : std::uint8_t { lock_, recall_, favour_ };             // grant
  enum : std::uint8_t { arrived_, was_recalled_, favoured_ };  // rank

  struct alignas(64) node : passive_member<Env, node> {
    typename Env::template atomic<node*> next{};
    typename Env::template plain<node*> passive{};
    typename Env::template plain<std::uint8_t> grant{};
    typename Env::template plain<std::uint8_t> rank{};
    Wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = Wait<Env>::policy,
      .node_bytes = sizeof(node),
      .reference = "Dice, EuroSys 2017",
      .summary =
          Wait<Env>::policy == waiting::spin
              ? "An MCS queue whose unlock moves surplus waiters aside and takes them back when "
                "the queue runs empty, the oldest first once in a while. Few threads circulate, "
                "which spares caches; all of them poll."
              : "An MCS queue whose unlock moves surplus and sleeping waiters aside and recalls "
                "them when the queue runs empty, the oldest first once in a while. Few threads "
                "circulate and the lock goes to those that are awake, so it bears more threads "
                "than cores."};

  static constexpr auto tunables = join(tunable_list<1>{&fairness}, Wait<Env>::tunables);

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->rank = arrived_;
    node* before = enqueue(me);
    if (is_free(before)) {
      enter(me, before);
      return arrival::uncontended;
    }
    wait_behind(before, me);
    return arrival::contended;
  }

  bool try_lock() {
    node* seen = tail_.load(std::memory_order_relaxed);
    if (!is_free(seen)) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->rank = arrived_;
    // As the exchange in enqueue(). The cell is not armed: nobody grants the first node.
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
    if (me->passive != nullptr || tail_.load(std::memory_order_relaxed) != me ||
        !tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      pass_on(me);
    }
    Env::give_node(me);
  }

 private:
  static constexpr bool parks_ = Wait<Env>::policy != waiting::spin;

  /// What the holder knows of those who do not circulate. In one pointer, for
  /// the holder's node and for the tail of a free lock.
  struct passive {
    passive_set<node> set;
    bool recalled;

    static passive of(node* word) {
      const std::uintptr_t bits = bits_of(word);
      return {passive_set<node>{node_of(bits & ~(free_ | recalled_))}, (bits & recalled_) != 0};
    }
    [[nodiscard]] node* word() const {
      return node_of(bits_of(set.youngest()) | (recalled ? recalled_ : 0));
    }
    /// With nobody in the set, whoever was recalled comes without being missed.
    [[nodiscard]] node* free_word() const {
      return set.empty() ? nullptr : node_of(bits_of(word()) | free_);
    }
  };

  static std::uintptr_t bits_of(node* word) { return reinterpret_cast<std::uintptr_t>(word); }
  static node* node_of(std::uintptr_t bits) { return reinterpret_cast<node*>(bits); }
  static bool is_free(node* tail) { return tail == nullptr || (bits_of(tail) & free_) != 0; }

  /// A waiter that sleeps can only be woken, and that takes long.
  static bool sleeps(node* waiter) {
    if constexpr (parks_) {
      return waiter->cell.asleep();
    } else {
      return false;
    }
  }

  /// What the queue's last node was before.
  node* enqueue(node* me) {
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    // Release publishes the node (pairs with the acquire of next and tail by
    // others); acquire pairs with the release in unlock() and pass_on() that
    // freed the lock.
    return tail_.exchange(me, std::memory_order_acq_rel);
  }

  /// The lock was free, with `before` as its tail.
  void enter(node* me, node* before) {
    me->passive = node_of(bits_of(before) & ~free_);
    holder_ = me;
  }

  [[gnu::noinline]] void wait_behind(node* before, node* me) {
    for (;;) {
      // Release pairs with the acquire loads of next in unlock.
      before->next.store(me, std::memory_order_release);
      me->cell.wait();
      if (me->grant == lock_) {
        holder_ = me;
        break;
      }
      me->rank = me->grant == favour_ ? favoured_ : was_recalled_;
      before = enqueue(me);
      if (is_free(before)) {
        enter(me, before);
        break;
      }
    }
    if (me->rank != arrived_) {
      passive rest = passive::of(me->passive);
      rest.recalled = false;
      me->passive = rest.word();
    }
  }

  /// The unlock of a holder that is not alone.
  [[gnu::noinline]] void pass_on(node* me) {
    passive rest = passive::of(me->passive);
    node* heir = nullptr;  // to be recalled, once the lock is out of our hands
    node* next = nullptr;
    if (!rest.set.empty() && Env::chance(Env::template value<fairness>())) {
      next = rest.set.oldest();
      rest.set.take(next);
      if (sleeps(next)) {
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
    // From here on the lock may be gone, if nobody is next and nobody recalled.
    if (next != nullptr) {
      next->passive = rest.word();
      next->grant = lock_;
      next->cell.grant();
    }
    if (heir != nullptr) {
      heir->cell.grant();
    }
  }

  /// Culls the queue. The first node that is left, or null when the lock has
  /// become free; then `heir` is to be recalled, if it is somebody.
  node* choose(node* me, passive& rest, node*& heir) {
    bool culled = false;
    node* last = me;  // what comes before `next`, in the queue or culled
    // Acquire, here and below, pairs with the release store in wait_behind().
    node* next = me->next.load(std::memory_order_acquire);
    for (;;) {
      while (next != nullptr && next->rank != favoured_) {
        node* after = next->next.load(std::memory_order_acquire);
        if (!sleeps(next)) {
          // It is between the holder and the last node: one such is too many.
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
      // Nobody who is awake waits in the queue, and `last` is the tail.
      if (!rest.set.empty()) {
        node* youngest = rest.set.youngest();
        if (!sleeps(youngest)) {
          rest.set.take(youngest);
          graft(last, youngest);
          return youngest;
        }
        if (heir == nullptr && !rest.recalled) {
          rest.set.take(youngest);
          youngest->grant = recall_;
          heir = youngest;
        }
      }
      // Where all poll the set is empty here, and unlock() has tried this before.
      if (parks_) {
        rest.recalled = rest.recalled || heir != nullptr;
        node* seen = last;
        // Release, as in unlock(); the passive set goes with the lock.
        if (tail_.compare_exchange_strong(seen, rest.free_word(), std::memory_order_release,
                                          std::memory_order_relaxed)) {
          return nullptr;
        }
      }
      next = await_link<Wait<Env>>(last->next);
    }
  }

  static void cull(node* one, passive& rest) {
    if (one->rank == was_recalled_) {
      rest.recalled = false;
    }
    rest.set.put(one);
  }

  /// Puts `one` into the queue behind `before`.
  void graft(node* before, node* one) {
    one->next.store(nullptr, std::memory_order_relaxed);
    node* seen = before;
    // Release publishes what was done to `one`, as in enqueue(). Nothing is acquired.
    if (!tail_.compare_exchange_strong(seen, one, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      // Relaxed: whoever reads it gets it by a grant.
      one->next.store(await_link<Wait<Env>>(before->next), std::memory_order_relaxed);
    }
  }

  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
