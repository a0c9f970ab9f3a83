// Locks with one classic fault each, which the checker has to find.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright::broken {

/// Returns traits of a lock that waits like that; the checker reads no other trait.
constexpr lock_traits traits_of(lockwright::waiting policy) {
  return {.category = category::competitive_succession,
          .waiting = policy,
          .realtime = realtime::starves,
          .reference = "none",
          .summary = "Broken on purpose."};
}

/// A byte that lock() acquires by repeated attempts. `Lock` has try_lock().
template <class Env, class Lock>
class byte_lock {
  friend Lock;
  byte_lock() = default;

 public:
  static constexpr lock_traits traits = traits_of(waiting::spin);

  arrival lock() {
    while (!static_cast<Lock*>(this)->try_lock()) {
      Env::relax();
    }
    return arrival::uncontended;
  }
  void unlock() { byte_.store(0, std::memory_order_release); }

 protected:
  typename Env::template atomic<std::uint8_t> byte_{};
};

/// Tests the lock and acquires it in two steps.
template <class Env>
class test_then_set : public byte_lock<Env, test_then_set<Env>> {
 public:
  bool try_lock() {
    if (this->byte_.load(std::memory_order_acquire) != 0) {
      return false;
    }
    this->byte_.store(1, std::memory_order_relaxed);
    return true;
  }
};

/// Acquires the lock in one step, but without the order after its last holder's writes.
template <class Env>
class relaxed_taking : public byte_lock<Env, relaxed_taking<Env>> {
 public:
  bool try_lock() { return this->byte_.exchange(1, std::memory_order_relaxed) == 0; }
};

/// The word of a futex mutex: 0 free, 1 held, 2 held and a thread may sleep.
template <class Env>
class futex_word {
 public:
  static constexpr lock_traits traits = traits_of(waiting::park);

  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

 protected:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// A futex mutex whose unlock never wakes.
template <class Env>
class no_wake : public futex_word<Env> {
 public:
  arrival lock() {
    while (this->word_.exchange(2, std::memory_order_acquire) != 0) {
      Env::wait(this->word_, 2);
    }
    return arrival::uncontended;
  }
  void unlock() { this->word_.store(0, std::memory_order_release); }
};

/// A futex mutex whose woken waiter marks the word "held, no thread sleeps", though others may
/// sleep or be about to.
template <class Env>
class forgets_other_sleepers : public futex_word<Env> {
 public:
  arrival lock() {
    while (!this->try_lock()) {
      if (this->word_.exchange(2, std::memory_order_acquire) == 0) {
        this->word_.store(1, std::memory_order_relaxed);
        break;
      }
      Env::wait(this->word_, 2);
    }
    return arrival::uncontended;
  }
  void unlock() {
    if (this->word_.exchange(0, std::memory_order_release) == 2) {
      Env::wake(this->word_, 1);
    }
  }
};

/// A spin-then-park cell without its wait(). The word is 0 armed, 1 asleep, 2 granted.
template <class Env>
class parking_cell {
 public:
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  static constexpr tunable_list<0> tunables{};

  void arm() { word_.store(0, std::memory_order_relaxed); }
  bool grant() {
    if (word_.exchange(2, std::memory_order_acq_rel) == 1) {
      Env::wake(word_, 1);
    }
    return true;
  }
  static void linger(std::uint32_t&) { Env::relax(); }

 protected:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// A cell that announces its parking by a plain store, which overwrites a grant in between.
template <class Env>
class parks_by_store : public parking_cell<Env> {
 public:
  void wait() {
    if (this->word_.load(std::memory_order_acquire) == 2) {
      return;
    }
    this->word_.store(1, std::memory_order_relaxed);
    do {
      Env::wait(this->word_, 1);
    } while (this->word_.load(std::memory_order_acquire) != 2);
  }
};

/// A cell that does not read its word again after a sleep: a wake meant for the node's last user
/// admits it.
template <class Env>
class trusts_wakes : public parking_cell<Env> {
 public:
  void wait() {
    std::uint32_t found = 0;
    if (this->word_.compare_exchange_strong(found, 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
      Env::wait(this->word_, 1);
      (void)this->word_.load(std::memory_order_acquire);
    }
  }
};

/// A queue of nodes with the trylock of CLH and MCS.
template <class Env, class Node>
class queue_lock {
 public:
  static constexpr lock_traits traits = traits_of(waiting::spin);

  bool try_lock() {
    Node* me = Env::template take_node<Node>();
    me->cell.arm();
    Node* empty = nullptr;
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_ = me;
      return true;
    }
    Env::give_node(me);
    return false;
  }

 protected:
  typename Env::template atomic<Node*> tail_{};
  typename Env::template plain<Node*> holder_{};
};

template <class Env>
struct alignas(64) clh_node {
  spin_wait<Env> cell;
};

/// CLH whose holder takes its own node back in unlock(), while the successor still polls it.
template <class Env>
class clh_keeps_node : public queue_lock<Env, clh_node<Env>> {
  using node = clh_node<Env>;

 public:
  arrival lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    if (node* before = this->tail_.exchange(me, std::memory_order_acq_rel)) {
      before->cell.wait();
    }
    this->holder_ = me;
    return arrival::uncontended;
  }
  void unlock() {
    node* me = this->holder_;
    node* last = me;
    if (!this->tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                             std::memory_order_relaxed)) {
      me->cell.grant();
    }
    Env::give_node(me);
  }
};

template <class Env>
struct alignas(64) mcs_node {
  typename Env::template atomic<mcs_node*> next{};
  spin_wait<Env> cell;
};

/// MCS whose unlock() takes the queue for empty if the successor has not linked itself yet.
template <class Env>
class mcs_forgets_late_linker : public queue_lock<Env, mcs_node<Env>> {
  using node = mcs_node<Env>;

 public:
  arrival lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    if (node* before = this->tail_.exchange(me, std::memory_order_acq_rel)) {
      before->next.store(me, std::memory_order_release);
      me->cell.wait();
    }
    this->holder_ = me;
    return arrival::uncontended;
  }
  void unlock() {
    node* me = this->holder_;
    if (node* behind = me->next.load(std::memory_order_acquire)) {
      behind->cell.grant();
    } else {
      this->tail_.store(nullptr, std::memory_order_release);
    }
    Env::give_node(me);
  }
};

/// Accesses the lock after another thread may have acquired and destroyed it.
template <class Env>
class late_touch : public byte_lock<Env, late_touch<Env>> {
 public:
  bool try_lock() { return this->byte_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() {
    this->byte_.store(0, std::memory_order_release);
    releases_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  typename Env::template atomic<std::uint32_t> releases_{};
};

}  // namespace lockwright::broken
