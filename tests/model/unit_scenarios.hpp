// The programs that semaphores have to survive, whatever the interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "preload/units.hpp"
#include "scenarios.hpp"
#include "waits.hpp"

namespace lockwright::check {

struct no_signals {};

/// A semaphore, and what wait_replaced() in src/preload/semaphore.cpp does with it.
template <template <class, class, class> class Semaphore, template <class> class Wait>
class unit_program : public program {
 public:
  using semaphore = Semaphore<forked_model, no_mutex, no_signals>;
  using wait_type = Wait<semaphore>;

  explicit unit_program(unsigned count = 0) {
    sem = ::new (static_cast<void*>(room)) semaphore(count);
  }

  alignas(semaphore) unsigned char room[sizeof(semaphore)];
  semaphore* sem;
  frame<wait_type> frames[model_env::most_threads];
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

  /// Signalled is with a unit.
  ending wait(patience how = patience::endless, bool at_end = true) {
    if (sem->try_take()) {
      return ending::signalled;
    }
    wait_type& wait = frames[rl::thread_index()].enter([this] { return wait_type{*sem}; });
    ending end = ending::signalled;
    if (!sem->take_or_enqueue(wait.self, at_end)) {
      end = await_unit(wait, how);
    }
    frame<wait_type>::leave(wait);
    return end;
  }

 private:
  static ending await_unit(wait_type& wait, patience how) {
    return ending_of(wait, [&] {
      return wait.sleep_until_granted(true, [&] { return sleep_once(wait.self, how); });
    });
  }
};

/// One unit that is passed round: a mutex. A waiter is put at the end of the queue, or there or at
/// its head by chance.
template <class P, std::uint32_t Threads, std::uint32_t Times, bool Mixed>
struct unit_exclusion final : P {
  unit_exclusion() : P(1) {}
  void thread(std::uint32_t) override {
    for (std::uint32_t i = 0; i < Times; ++i) {
      require(this->wait(patience::endless, !Mixed || model::chance(2)) == ending::signalled,
              "a unit");
      this->data.change();
      require(this->sem->post(), "not too many");
    }
  }
  void after() override {
    require(this->data.count() == Threads * Times, "every turn counted");
    require(this->sem->count() == 1, "the unit is there");
  }
};

/// Posts without waits, and waits that find them or sleep. What was written before a post is seen.
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
  void after() override { require(this->sem->count() == 1, "the unit is there"); }
};

/// A wait that may end early, against the post.
template <class P, patience How>
struct unit_hurried final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      if (this->wait(How) != ending::signalled) {
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

/// The same beside a patient waiter, which gets the one unit if the other does not keep it. Both
/// are put at the end of the queue, or at its head.
template <class P, patience How, bool AtEnd>
struct unit_beside final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      if (this->wait(How, AtEnd) == ending::signalled) {
        this->sem->post();
      }
    } else if (index == 1) {
      this->wait(patience::endless, AtEnd);
      this->data.change();
    } else {
      this->data.change();
      this->sem->post();
    }
  }
  void after() override { require(this->sem->count() == 0, "the unit was taken once"); }
};

/// Units are added beside one that may be leaving, and taken by one that does not wait.
template <class P>
struct unit_crossing final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      note(this->wait(patience::timed) == ending::signalled);
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
