// Scenarios that semaphores have to pass in every interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "preload/basic_semaphore.hpp"
#include "scenarios.hpp"
#include "waits.hpp"

namespace lockwright::check {

struct no_signals {};

/// A semaphore, with a wait() as wait_replaced() in src/preload/semaphore.cpp.
template <template <class, class, class> class Semaphore, template <class> class Wait>
class unit_program : public program {
 public:
  using semaphore = Semaphore<forked_model, no_mutex, no_signals>;
  using wait_type = Wait<semaphore>;

  explicit unit_program(unsigned count = 0) {
    sem = ::new (static_cast<void*>(memory)) semaphore(count);
  }

  alignas(semaphore) unsigned char memory[sizeof(semaphore)];
  semaphore* sem;
  frame<wait_type> frames[model_env::max_threads];
  protected_data data;

  ~unit_program() override {
    if (sem != nullptr) {
      sem->~semaphore();
    }
  }

  void destroy() {
    sem->~semaphore();
    sem = nullptr;
  }

  /// Returns `signalled` if the thread has a unit.
  ending wait(wait_limit until = wait_limit::endless, bool at_end = true) {
    if (sem->try_take()) {
      return ending::signalled;
    }
    wait_type& wait = frames[rl::thread_index()].enter([this] { return wait_type{*sem}; });
    ending end = ending::signalled;
    if (!sem->take_or_enqueue(wait.self, at_end)) {
      end = await_unit(wait, until);
    }
    frame<wait_type>::leave(wait);
    return end;
  }

 private:
  static ending await_unit(wait_type& wait, wait_limit until) {
    return ending_of(wait, [&] {
      return wait.sleep_until_granted(true, [&] { return sleep_once(wait.self, until); });
    });
  }
};

/// One unit that circulates: a mutex. Waiters are appended to the queue, or appended or prepended
/// at random.
template <class P, std::uint32_t Threads, std::uint32_t Times, bool Mixed>
struct unit_exclusion final : P {
  unit_exclusion() : P(1) {}
  void thread(std::uint32_t) override {
    for (std::uint32_t i = 0; i < Times; ++i) {
      require(this->wait(wait_limit::endless, !Mixed || model::chance(2)) == ending::signalled,
              "a unit");
      this->data.change();
      require(this->sem->post(), "the count does not overflow");
    }
  }
  void after() override {
    require(this->data.count() == Threads * Times, "every acquisition counted");
    require(this->sem->count() == 1, "the unit is available");
  }
};

/// Posts, and waits that find a unit or sleep. A post orders the writes before it.
template <class P>
struct unit_posts final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->wait();
      this->data.change();
      this->wait();
    } else {
      this->data.change();
      this->sem->post();
      this->sem->post();
    }
  }
  void after() override { require(this->sem->count() == 0, "each unit was taken once"); }
};

/// A try operation does not wait.
template <class P>
struct unit_tries final : P {
  unit_tries() : P(1) {}
  void thread(std::uint32_t) override {
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (this->sem->try_take()) {
        this->data.change();
        this->sem->post();
      }
    }
    this->wait();
    this->data.change();
    this->sem->post();
  }
  void after() override { require(this->sem->count() == 1, "the unit is available"); }
};

/// A wait that may end early races with the post.
template <class P, wait_limit End>
struct unit_ended_early final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      if (this->wait(End) != ending::signalled) {
        this->wait();
      }
      this->data.change();
    } else {
      this->data.change();
      this->sem->post();
    }
  }
  void after() override { require(this->sem->count() == 0, "the unit was taken once"); }
};

/// The same with an endless waiter, which gets the unit if the first waiter does not. Both are
/// appended to the queue, or prepended.
template <class P, wait_limit End, bool AtEnd>
struct unit_beside final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      if (this->wait(End, AtEnd) == ending::signalled) {
        this->sem->post();
      }
    } else if (index == 1) {
      this->wait(wait_limit::endless, AtEnd);
      this->data.change();
    } else {
      this->data.change();
      this->sem->post();
    }
  }
  void after() override { require(this->sem->count() == 0, "the unit was taken once"); }
};

/// Units are posted while a waiter may give up, and taken by a thread that does not wait.
template <class P>
struct unit_crossing final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      note(this->wait(wait_limit::timed) == ending::signalled);
    } else if (index == 1) {
      this->sem->post();
      this->sem->post();
    } else {
      note(this->sem->try_take());
    }
  }
  void after() override {
    require(this->sem->count() + taken_.load(std::memory_order_relaxed) == 2, "two units");
  }

 private:
  void note(bool took) { taken_.fetch_add(took ? 1 : 0, std::memory_order_relaxed); }

  model::atomic<std::uint32_t> taken_{0};
};

/// The thread that gets the unit destroys the semaphore.
template <class P>
struct unit_last_user final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->wait();
      this->destroy();
    } else {
      this->sem->post();
    }
  }
};

}  // namespace lockwright::check
