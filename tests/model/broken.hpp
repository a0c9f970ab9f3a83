// Locks with one classic fault each. The checker has to find every one of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright::broken {

/// The traits that the checker reads; the others are for people.
constexpr lock_traits like(lockwright::waiting how) {
  return {.category = category::competitive_succession,
          .waiting = how,
          .realtime = realtime::starves,
          .reference = "none",
          .summary = "Broken on purpose."};
}

/// Sees the lock free and takes it in two steps.
template <class Env>
class test_then_set {
 public:
  static constexpr lock_traits traits = like(waiting::spin);

  arrival lock() {
    while (!try_lock()) {
      Env::relax();
    }
    return arrival::uncontended;
  }
  bool try_lock() {
    if (byte_.load(std::memory_order_acquire) != 0) {
      return false;
    }
    byte_.store(1, std::memory_order_relaxed);
    return true;
  }
  void unlock() { byte_.store(0, std::memory_order_release); }

 private:
  typename Env::template atomic<std::uint8_t> byte_{};
};

/// Takes the lock in one step, but does not see what its last holder did.
template <class Env>
class relaxed_taking {
 public:
  static constexpr lock_traits traits = like(waiting::spin);

  arrival lock() {
    while (!try_lock()) {
      Env::relax();
    }
    return arrival::uncontended;
  }
  bool try_lock() { return byte_.exchange(1, std::memory_order_relaxed) == 0; }
  void unlock() { byte_.store(0, std::memory_order_release); }

 private:
  typename Env::template atomic<std::uint8_t> byte_{};
};

/// A futex mutex whose unlock never wakes.
template <class Env>
class no_wake {
 public:
  static constexpr lock_traits traits = like(waiting::park);

  arrival lock() {
    while (word_.exchange(2, std::memory_order_acquire) != 0) {
      Env::wait(word_, 2);
    }
    return arrival::uncontended;
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// A futex mutex whose woken waiter marks the word "held, no thread sleeps", and
/// so forgets any other thread that sleeps or is about to.
template <class Env>
class forgets_other_sleepers {
 public:
  static constexpr lock_traits traits = like(waiting::park);

  arrival lock() {
    while (!try_lock()) {
      if (word_.exchange(2, std::memory_order_acquire) == 0) {
        word_.store(1, std::memory_order_relaxed);
        break;
      }
      Env::wait(word_, 2);
    }
    return arrival::uncontended;
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) {
      Env::wake(word_, 1);
    }
  }

 private:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// A spin-then-park cell that announces its parking by a plain store: a grant
/// that came in between is overwritten.
template <class Env>
class parks_by_store {
 public:
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  static constexpr tunable_list<0> tunables{};

  void arm() { word_.store(0, std::memory_order_relaxed); }
  void wait() {
    if (word_.load(std::memory_order_acquire) == 2) {
      return;
    }
    word_.store(1, std::memory_order_relaxed);
    do {
      Env::wait(word_, 1);
    } while (word_.load(std::memory_order_acquire) != 2);
  }
  void grant() {
    if (word_.exchange(2, std::memory_order_acq_rel) == 1) {
      Env::wake(word_, 1);
    }
  }
  static void linger(std::uint32_t&) { Env::relax(); }

 private:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// A cell that sleeps without looking at its word again afterwards: a wake that
/// was meant for the node's last user lets it in.
template <class Env>
class trusts_wakes {
 public:
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  static constexpr tunable_list<0> tunables{};

  void arm() { word_.store(0, std::memory_order_relaxed); }
  void wait() {
    std::uint32_t seen = 0;
    if (word_.compare_exchange_strong(seen, 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      Env::wait(word_, 1);
      (void)word_.load(std::memory_order_acquire);
    }
  }
  void grant() {
    if (word_.exchange(2, std::memory_order_acq_rel) == 1) {
      Env::wake(word_, 1);
    }
  }
  static void linger(std::uint32_t&) { Env::relax(); }

 private:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// CLH whose holder takes its own node back at unlock, while the successor
/// still polls it.
template <class Env>
class clh_keeps_node {
  struct alignas(64) node {
    spin_wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits = like(waiting::spin);

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    if (node* before = tail_.exchange(me, std::memory_order_acq_rel)) {
      before->cell.wait();
    }
    holder_ = me;
    return arrival::uncontended;
  }
  bool try_lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    node* empty = nullptr;
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_ = me;
      return true;
    }
    Env::give_node(me);
    return false;
  }
  void unlock() {
    node* me = holder_;
    node* last = me;
    if (!tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      me->cell.grant();
    }
    Env::give_node(me);
  }

 private:
  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

/// MCS that believes the queue to be empty when its link is not there yet.
template <class Env>
class mcs_forgets_late_linker {
  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    spin_wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits = like(waiting::spin);

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    if (node* before = tail_.exchange(me, std::memory_order_acq_rel)) {
      before->next.store(me, std::memory_order_release);
      me->cell.wait();
    }
    holder_ = me;
    return arrival::uncontended;
  }
  bool try_lock() {
    node* me = Env::template take_node<node>();
    node* empty = nullptr;
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_ = me;
      return true;
    }
    Env::give_node(me);
    return false;
  }
  void unlock() {
    node* me = holder_;
    if (node* behind = me->next.load(std::memory_order_acquire)) {
      behind->cell.grant();
    } else {
      tail_.store(nullptr, std::memory_order_release);
    }
    Env::give_node(me);
  }

 private:
  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

/// Touches the lock after another thread may have had it and destroyed it.
template <class Env>
class late_touch {
 public:
  static constexpr lock_traits traits = like(waiting::spin);

  arrival lock() {
    while (!try_lock()) {
      Env::relax();
    }
    return arrival::uncontended;
  }
  bool try_lock() { return byte_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() {
    byte_.store(0, std::memory_order_release);
    releases_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  typename Env::template atomic<std::uint8_t> byte_{};
  typename Env::template atomic<std::uint32_t> releases_{};
};

}  // namespace lockwright::broken
