// LiTL's locks (multicore-locks/litl), which Lock-Unlock measured, and Mutable Locks beside its
// own.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/passive_set.hpp"
#include "lockwright/parts/restriction.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright::simulate {

/// By default LiTL takes the C library's mutex inside each of its locks, so that the C library's
/// condition variables work (README.md, "Support for condition variables").
template <class Env, class Lock>
class with_mutex_inside {
 public:
  static constexpr lock_traits traits = Lock::traits;

  arrival lock() {
    const arrival how = lock_.lock();
    mutex_.lock();
    return how;
  }

  bool try_lock() {
    if (!lock_.try_lock()) {
      return false;
    }
    while (!mutex_.try_lock()) {
      Env::relax();
    }
    return true;
  }

  void unlock() {
    mutex_.unlock();
    lock_.unlock();
  }

 private:
  Lock lock_;
  alignas(64) typename Env::libc_mutex mutex_;
};

/// The waiting policy of its locks that poll and then sleep (src/waiting_policy.h): a grant makes a
/// wake call whether the waiter sleeps or not.
template <class Env>
class wake_always {
 public:
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  static constexpr tunable_list<1> tunables{&spin_bound};

  void arm() { word_.store(waiting_, std::memory_order_relaxed); }

  void wait() {
    const std::uint64_t end = Env::now() + Env::template value<spin_bound>();
    if (poll_until<Env>(end, [this] { return is_granted(); })) {
      return;
    }
    while (!is_granted()) {
      Env::wait(word_, waiting_);
    }
  }

  bool grant() {
    word_.store(granted_, std::memory_order_release);
    Env::wake(word_, 1);
    return true;
  }

  static void linger(std::uint32_t&) { Env::relax(); }

 private:
  static constexpr std::uint32_t waiting_ = 0;
  static constexpr std::uint32_t granted_ = 1;

  [[nodiscard]] bool is_granted() const {
    return word_.load(std::memory_order_acquire) == granted_;
  }

  typename Env::template atomic<std::uint32_t> word_{};
};

/// MCSCR (src/malthusian.c). It differs from lockwright/lock/malth.hpp: the passive set is in the
/// lock, and a grant goes to the next thread whether it sleeps or not, instead of recalling it.
template <class Env, template <class> class Wait>
class malthusian {
  struct alignas(64) node : passive_member<Env, node> {
    typename Env::template atomic<node*> next{};
    Wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits{.category = category::load_control,
                                      .waiting = Wait<Env>::policy,
                                      .realtime = realtime::own_order,
                                      .reference = "Guerraoui et al., TOCS 2019",
                                      .summary = "LiTL's Malthusian lock."};

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    node* before = tail_.exchange(me);
    if (before != nullptr) {
      before->next.store(me, std::memory_order_release);
      me->cell.wait();
    }
    holder_ = me;
    return before == nullptr ? arrival::uncontended : arrival::contended;
  }

  bool try_lock() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    node* free = nullptr;
    if (!tail_.compare_exchange_strong(free, me)) {
      Env::give_node(me);
      return false;
    }
    holder_ = me;
    return true;
  }

  void unlock() {
    node* me = holder_;
    if (node* next = successor(me)) {
      next->cell.grant();
    }
    Env::give_node(me);
  }

 private:
  /// Null if the lock has become free.
  node* successor(node* me) {
    passive_set<node> passive(youngest_);
    if (Env::chance(Env::template value<fairness>()) && !passive.empty()) {
      node* oldest = passive.oldest();
      passive.take(oldest);
      youngest_ = passive.youngest();
      put_behind(me, oldest);
      return oldest;
    }
    node* next = me->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      if (passive.empty()) {
        node* last = me;
        return tail_.compare_exchange_strong(last, nullptr) ? nullptr
                                                            : await_link<Wait<Env>>(me->next);
      }
      node* recalled = passive.youngest();
      passive.take(recalled);
      youngest_ = passive.youngest();
      put_behind(me, recalled);
      return recalled;
    }
    if (next == tail_.load()) {
      return next;
    }
    node* surplus = next;
    next = await_link<Wait<Env>>(surplus->next);
    passive.put(surplus);
    youngest_ = passive.youngest();
    return next;
  }

  void put_behind(node* me, node* waiter) {
    waiter->next.store(nullptr, std::memory_order_relaxed);
    node* last = me;
    if (!tail_.compare_exchange_strong(last, waiter)) {
      waiter->next.store(await_link<Wait<Env>>(me->next), std::memory_order_relaxed);
    }
  }

  typename Env::template atomic<node*> tail_{};
  alignas(64) typename Env::template plain<node*> holder_{};
  typename Env::template plain<node*> youngest_{};
};

}  // namespace lockwright::simulate
