// The programs that must be correct with every lock, in every interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "lockwright/env/model.hpp"
#include "program.hpp"
#include "traced_lock.hpp"

namespace lockwright::check {

/// Data that a lock protects. Two threads that use it at once, or one that does not
/// see the previous one's writes, are a data race, which the checker reports.
class protected_data {
 public:
  void change() { data_ = data_ + 1; }
  [[nodiscard]] std::uint32_t count() const { return data_; }

 private:
  model::plain<std::uint32_t> data_{0};
};

inline void require(bool condition, const char* what,
                    const model::location& at = model::location::current()) {
  if (!condition) {
    model_env::fail(what, rl::test_result_user_assert_failed, model_env::relacy_info(at));
  }
}

template <class L>
struct one_lock : program {
  traced_lock<L> lock{"the lock"};
  protected_data data;

  void section() {
    lock.lock();
    change_and_unlock();
  }

  void change_and_unlock() {
    data.change();
    lock.unlock();
  }

  void after() override {
    require(lock.try_lock(), "after all threads have ended the lock is free");
    change_and_unlock();
  }
};

/// Each thread enters `Times` times, and no acquisition is lost.
template <class L, std::uint32_t Threads, std::uint32_t Times>
struct exclusion final : one_lock<L> {
  void thread(std::uint32_t) override {
    for (std::uint32_t i = 0; i < Times; ++i) {
      this->section();
    }
  }
  void after() override {
    require(this->data.count() == Threads * Times, "every acquisition counted");
    one_lock<L>::after();
  }
};

/// The first thread locks a second time, after a handover that was not in the order of arrival.
template <class L>
struct comes_again final : one_lock<L> {
  void thread(std::uint32_t index) override {
    this->section();
    if (index == 0) {
      this->section();
    }
  }
};

/// The same, where the other thread of its NUMA node has a deadline.
template <class L>
struct comes_again_timed final : one_lock<L> {
  void thread(std::uint32_t index) override {
    if (index != 2) {
      this->section();
    } else if (this->lock.try_lock_until(model::now() + 500)) {
      this->change_and_unlock();
    }
    if (index == 0) {
      this->section();
    }
  }
};

/// The first thread locks; the others try, and take the slow path if refused.
template <class L>
struct trylock final : one_lock<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->section();
      this->section();
      return;
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (this->lock.try_lock()) {
        this->change_and_unlock();
      }
    }
    this->section();
  }
};

/// A holder announces waits for a condition variable while others come.
template <class L>
struct signals final : one_lock<L> {
  void thread(std::uint32_t index) override {
    this->lock.lock();
    if (index == 0) {
      this->lock.expect_signals();
    }
    this->change_and_unlock();
  }
};

/// A held lock is refused, to its holder too, also while another thread queues.
template <class L>
struct refusal final : one_lock<L> {
  void thread(std::uint32_t index) override {
    this->lock.lock();
    this->data.change();
    if (index == 0) {
      require(!this->lock.try_lock(), "a held lock is refused");
    }
    this->change_and_unlock();
  }
};

/// A deadline comes while the lock is taken, handed over, or awaited by others.
template <class L>
struct timed final : one_lock<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->section();
      this->section();
      return;
    }
    // It passes before the first reading of the clock, or between the first and the second.
    if (this->lock.try_lock_until(model::now() + 500 + 1'000 * model_env::choose(2))) {
      this->change_and_unlock();
    }
    this->section();
  }
};

/// Two deadlines at once, behind a holder.
template <class L>
struct all_timed final : one_lock<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->section();
    } else if (this->lock.try_lock_until(model::now() + 500 + 1'000 * (index - 1))) {
      this->change_and_unlock();
    }
  }
};

/// A timed lock without a deadline gets the lock.
template <class L>
struct in_time final : one_lock<L> {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->section();
      this->section();
      return;
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      require(this->lock.try_lock_until(~std::uint64_t{0}), "time enough");
      this->change_and_unlock();
    }
  }
};

/// Queue nodes are reused by other locks and other threads.
template <class L>
struct reuse final : program {
  traced_lock<L> first{"the first lock"};
  traced_lock<L> second{"the second lock"};
  protected_data of_first, of_second;

  void thread(std::uint32_t index) override {
    for (std::uint32_t i = 0; i < 3; ++i) {
      if ((i + index) % 2 == 0) {
        first.lock();
        of_first.change();
        first.unlock();
      } else {
        second.lock();
        of_second.change();
        second.unlock();
      }
    }
  }
};

/// Two locks held at once and released in the order of their acquisition.
template <class L>
struct nested final : program {
  traced_lock<L> outer{"the outer lock"};
  traced_lock<L> inner{"the inner lock"};
  protected_data of_outer, of_inner;

  void thread(std::uint32_t index) override {
    if (index == 0) {
      outer.lock();
      of_outer.change();
      inner.lock();
      of_inner.change();
      outer.unlock();
      of_inner.change();
      inner.unlock();
    } else {
      inner.lock();
      of_inner.change();
      inner.unlock();
      outer.lock();
      of_outer.change();
      inner.lock();
      of_inner.change();
      inner.unlock();
      outer.unlock();
    }
  }
};

/// One thread locks and another one unlocks, while the first locks again.
template <class L>
struct released_by_another final : one_lock<L> {
  model::atomic<std::uint32_t> locked{0};

  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->lock.lock();
      this->data.change();
      locked.store(1, std::memory_order_release);
      this->section();
    } else {
      while (locked.load(std::memory_order_acquire) == 0) {
        model::relax();
      }
      this->change_and_unlock();
    }
  }
};

/// Two locks of one thread are unlocked by two others at once, while there are waiters for both.
template <class L>
struct both_released_by_others final : program {
  traced_lock<L> first{"the first lock"};
  traced_lock<L> second{"the second lock"};
  protected_data of_first, of_second;
  model::atomic<std::uint32_t> locked{0};

  void thread(std::uint32_t index) override {
    if (index == 0) {
      first.lock();
      of_first.change();
      second.lock();
      of_second.change();
      locked.store(1, std::memory_order_release);
    } else {
      while (locked.load(std::memory_order_acquire) == 0) {
        model::relax();
      }
    }
    if (index == 1) {
      of_first.change();
      first.unlock();
    } else if (index == 2) {
      of_second.change();
      second.unlock();
    }
    const bool wants_second = index == 1 || index == 3;
    traced_lock<L>& next = wants_second ? second : first;
    if (index != 2) {
      next.lock();
      (wants_second ? of_second : of_first).change();
      next.unlock();
    }
  }
};

/// Each thread ends while it is inside; the next one unlocks, and may get the others' queue
/// nodes and own pieces of memory.
template <class L>
struct thread_exit final : one_lock<L> {
  model::atomic<std::uint32_t> ended{0};

  void thread(std::uint32_t index) override {
    this->lock.lock();
    this->data.change();
    ended.fetch_add(1, std::memory_order_release);
    model_env::execution_now.replace_thread();
    ended.fetch_add(0,
                    // as the creation of a thread happens after what ended before it
                    std::memory_order_acquire);
    this->change_and_unlock();
    if (index == 0) {
      this->section();
    }
  }
};

/// The thread that leaves last destroys the lock, as POSIX lets the last user of a
/// mutex do: unlock must not access the lock once another thread can have it.
/// One thread tries first, so that unlock follows both kinds of acquisition.
template <class L, std::uint32_t Threads>
struct last_user_destroys final : program {
  alignas(traced_lock<L>) unsigned char room[sizeof(traced_lock<L>)];
  traced_lock<L>* lock = ::new (static_cast<void*>(room)) traced_lock<L>{"the lock"};
  protected_data left;

  void thread(std::uint32_t index) override {
    if (index != 1 || !lock->try_lock()) {
      lock->lock();
    }
    left.change();
    const bool last = left.count() == Threads;
    lock->unlock();
    if (last) {
      lock->~traced_lock<L>();
    }
  }
};

}  // namespace lockwright::check
