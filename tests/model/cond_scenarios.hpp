// Scenarios that condition variables have to pass in every interleaving.
#pragma once

#include <cstdint>
#include <new>

#include "lockwright/lock.hpp"
#include "preload/basic_condvar.hpp"
#include "preload/timed_wait.hpp"
#include "scenarios.hpp"
#include "waits.hpp"

namespace lockwright::check {

/// The mutex that src/preload/replaced_mutex.hpp makes of a lock, without checks of the holder.
template <class L>
class model_mutex {
 public:
  static constexpr lock_traits traits = L::traits;
  using object = model_mutex;
  static constexpr bool waiters_park(model_mutex*) { return L::traits.parks(); }

  arrival lock() {
    const arrival found = lock_.lock();
    owner_.store(model::self(), std::memory_order_relaxed);
    return found;
  }

  bool try_lock() { return owned_if(lock_.try_lock()); }

  /// As lock_until() in src/preload, for a lock without a timed wait of its own: due at once, after
  /// a wake in vain.
  bool try_lock_until(std::uint64_t deadline) {
    preload::timed_wait<forked_model, model_mutex>& wait =
        timed_frames_[rl::thread_index()].enter([this] { return timed(signalled_, {0, 0, 0}); });
    const bool inside = wait.lock_until(lock_, deadline);
    frame<timed>::leave(wait);
    return owned_if(inside);
  }

  void unlock() {
    if (signalled_.empty()) {
      disown_and_unlock();
    } else {
      signalled_.grant_first_after([this] { disown(); }, [this] { lock_.unlock(); });
    }
  }

  /// For the holder, before it waits for a condition variable.
  void expect_signals() {
    if constexpr (requires { lock_.expect_signals(); }) {
      lock_.expect_signals();
    }
  }

  static preload::basic_signalled_queue<forked_model, model_mutex>* signalled(model_mutex* mutex) {
    return &mutex->signalled_;
  }
  static bool is_held_by_caller(model_mutex* mutex) {
    return mutex->owner_.load(std::memory_order_relaxed) == model::self();
  }
  static int reacquire(model_mutex* mutex, bool) {
    mutex->lock();
    return 0;
  }

 protected:
  bool owned_if(bool inside) {
    if (inside) {
      owner_.store(model::self(), std::memory_order_relaxed);
    }
    return inside;
  }
  void disown() { owner_.store(0, std::memory_order_relaxed); }
  void disown_and_unlock() {
    disown();
    lock_.unlock();
  }

  using timed = preload::timed_wait<forked_model, model_mutex>;

  L lock_;
  frame<timed> timed_frames_[model_env::max_threads];
  preload::basic_signalled_queue<forked_model, model_mutex> signalled_;
  model::atomic<std::uint32_t> owner_{0};
};

/// A mutex and a condition variable, with a wait() as wait_replaced() in src/preload/cond.cpp.
template <class L, template <class> class Mutex, template <class, class> class Condvar>
class cond_program : public program {
 public:
  using mutex = Mutex<L>;
  using condvar = Condvar<forked_model, mutex>;
  using waiter = preload::basic_waiter<forked_model, typename mutex::object>;
  using wait_type = preload::wait_with<forked_model, mutex, condvar>;

  mutex guard;
  alignas(condvar) unsigned char memory[sizeof(condvar)];
  condvar* cond = ::new (static_cast<void*>(memory)) condvar;
  protected_data data;
  model::plain<std::uint32_t> flag{0};
  frame<wait_type> frames[model_env::max_threads];

  ~cond_program() override {
    if (cond != nullptr) {
      cond->~condvar();
    }
  }

  /// Legal as soon as all waiters have been signalled, or have given up.
  void destroy() {
    cond->drain();
    cond->~condvar();
    cond = nullptr;
  }

  ending wait(wait_limit until = wait_limit::endless, bool at_end = true, bool keeps = false,
              bool polls = false) {
    wait_type& wait =
        frames[rl::thread_index()].enter([this] { return wait_type{*cond, waiter(&guard)}; });
    wait.self.keeps_mutex = keeps;
    if (polls) {
      wait.self.begin_to_poll();
    }
    cond->enqueue(wait.self, at_end && !polls);
    if (!keeps) {
      guard.expect_signals();
      guard.unlock();
    }
    if (polls && !wait.self.end_polling()) {
      cond->let_others_before(wait.self);
    }
    const ending end = await_signal(wait, until);
    if (end == ending::signalled) {
      wait.self.await_grant();
    }
    if (end != ending::cancelled && !keeps) {
      wait.reacquire_mutex();
    }
    frame<wait_type>::leave(wait);
    data.change();  // Only the mutex's holder may do this.
    return end;
  }

  void wait_for_flag(bool at_end = true) {
    while (flag == 0) {
      wait(wait_limit::endless, at_end);
    }
  }

  void set_flag() {
    data.change();
    flag = 1;
  }

  void thread(std::uint32_t) override {}
  void after() override {
    guard.lock();
    data.change();
    guard.unlock();
  }

 private:
  static ending await_signal(wait_type& wait, wait_limit until) {
    return ending_of(wait, [&] {
      return wait.sleep_until_signalled(true, [&] { return sleep_once(wait.self, until); });
    });
  }
};

/// A signal under the mutex, or after its release. No signal is needed if the flag is set before
/// the wait.
template <class P, bool Inside>
struct cond_signal final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 0) {
      this->wait_for_flag();
    } else {
      this->set_flag();
      if (Inside) {
        this->cond->signal();
      }
    }
    this->guard.unlock();
    if (!Inside && index == 1) {
      this->cond->signal();
    }
  }
};

/// Two threads wait for each other alternately, so that frames and queue are reused. A third one
/// uses the mutex only.
template <class P>
struct cond_ring final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    for (std::uint32_t i = 0; i < 2 && index < 2; ++i) {
      while (this->flag % 2 != index) {
        this->wait();
      }
      this->flag = this->flag + 1;
      this->cond->signal();
    }
    this->guard.unlock();
  }
  void after() override {
    require(this->flag == 4, "every round completed");
    P::after();
  }
};

/// One broadcast wakes all waiters.
template <class P, bool Inside, std::uint32_t Threads>
struct cond_broadcast final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index != Threads - 1) {
      this->wait_for_flag();
    } else {
      this->set_flag();
      if (Inside) {
        this->cond->broadcast();
      }
    }
    this->guard.unlock();
    if (!Inside && index == Threads - 1) {
      this->cond->broadcast();
    }
  }
};

/// A wait that may end early races with a signal; if the signal did not end it, the thread waits
/// again.
template <class P, wait_limit End>
struct cond_ended_early final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 0) {
      if (this->flag == 0 && this->wait(End) == ending::signalled) {
        require(this->flag == 1, "no spurious wake-up");
      }
      this->wait_for_flag();
    } else {
      this->set_flag();
      this->cond->signal();
    }
    this->guard.unlock();
  }
};

/// The same with an endless waiter, which must not lose the one signal. A waiter that is signalled
/// needlessly passes the signal on; for a cancelled one the library does. Both are appended to the
/// queue, or prepended. All: a broadcast signals both.
template <class P, wait_limit End, bool Inside, bool AtEnd, bool All = false>
struct cond_beside final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 0) {
      if (this->flag == 0 && this->wait(End, AtEnd) == ending::signalled) {
        this->cond->signal();
      }
    } else if (index == 1) {
      this->wait_for_flag(AtEnd);
    } else {
      this->set_flag();
      if (Inside) {
        signal();
      }
    }
    this->guard.unlock();
    if (!Inside && index == 2) {
      signal();
    }
  }

 private:
  void signal() { All ? this->cond->broadcast() : this->cond->signal(); }
};

/// The condition variable is destroyed right after a broadcast, while waiters return.
template <class P, wait_limit End, bool Inside, std::uint32_t Threads>
struct cond_destroyed final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index != Threads - 1) {
      if (this->flag == 0) {
        this->wait(End);
      }
    } else {
      this->set_flag();
      this->cond->broadcast();
      if (Inside) {
        this->destroy();
      }
    }
    this->guard.unlock();
    if (!Inside && index == Threads - 1) {
      this->destroy();
    }
  }
};

/// The waiter is the last user of mutex and condition variable, and destroys both after its wait.
template <class P, bool Broadcast>
struct cond_last_user final : program {
  alignas(P) unsigned char memory[sizeof(P)];
  P* shared = ::new (static_cast<void*>(memory)) P;

  void thread(std::uint32_t index) override {
    P& all = *shared;
    all.guard.lock();
    if (index == 0) {
      all.wait_for_flag();
      all.guard.unlock();
      all.~P();
      return;
    }
    all.set_flag();
    Broadcast ? all.cond->broadcast() : all.cond->signal();
    all.guard.unlock();
  }
};

/// The same with a signal while no thread has the mutex.
template <class P>
struct cond_last_user_outside final : program {
  alignas(P) unsigned char memory[sizeof(P)];
  P* shared = ::new (static_cast<void*>(memory)) P;

  void thread(std::uint32_t index) override {
    P& all = *shared;
    all.guard.lock();
    if (index == 0) {
      all.flag = 1;
      all.wait();
      all.guard.unlock();
      all.~P();
      return;
    }
    while (all.flag == 0) {
      all.guard.unlock();
      model::yield();
      all.guard.lock();
    }
    all.guard.unlock();
    all.cond->signal();
  }
};

/// One signal wakes the head of the queue: the first to arrive if all are appended, the last if all
/// are prepended.
template <class P, bool AtEnd>
struct cond_order final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 2) {
      const std::uint32_t arrived = this->arrived_;
      const std::uint32_t first = this->first_;
      this->expected_ = arrived < 2 || AtEnd ? first : 1 - first;
      this->set_flag();
      arrived == 0 ? void() : this->cond->signal();
    } else if (this->flag == 0) {
      if (this->arrived_ == 0) {
        this->first_ = index;
      }
      this->arrived_ = this->arrived_ + 1;
      this->wait(wait_limit::endless, AtEnd);
      if (this->flag == 1) {
        require(this->expected_ == index, "the head of the queue is woken");
        this->flag = 2;
        this->cond->signal();
      }
    }
    this->guard.unlock();
  }

 private:
  model::plain<std::uint32_t> arrived_{0};
  model::plain<std::uint32_t> first_{0};
  model::plain<std::uint32_t> expected_{0};
};

/// Each of two waiters is appended or prepended at random, and gets a signal.
template <class P>
struct cond_mixed final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 2) {
      this->set_flag();
      this->cond->signal();
      this->cond->signal();
    } else {
      this->wait_for_flag(model::chance(2));
    }
    this->guard.unlock();
  }
};

/// A waiter that polls before it sleeps, alone or beside one that may end early, or that polls as
/// well. Each gets a signal, or all get a broadcast.
template <class P, wait_limit End, bool All, std::uint32_t Threads>
struct cond_polled final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == Threads - 1) {
      this->set_flag();
      All ? this->cond->broadcast() : this->cond->signal();
      All ? void() : this->cond->signal();
    } else {
      while (this->flag == 0) {
        const bool polls = index == 0 || (End == wait_limit::endless && model_env::choose(2) == 0);
        this->wait(index == 0 ? wait_limit::endless : End, true, false, polls);
      }
    }
    this->guard.unlock();
  }
};

/// A wait that does not release a recursively held mutex: signals are sent without it.
template <class P>
struct cond_kept final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->guard.lock();
      this->wait(wait_limit::endless, true, true);
      this->guard.unlock();
      this->done_.store(1, std::memory_order_release);
      return;
    }
    while (this->done_.load(std::memory_order_acquire) == 0) {
      this->cond->broadcast();
      model::yield();
    }
  }

 private:
  model::atomic<std::uint32_t> done_{0};
};

/// A thread waits for the mutex up to a deadline, beside signalled waiters that no unlock may
/// forget. The first of them may be granted, or be taken for it.
template <class P, bool All>
struct cond_beside_lock final : P {
  void thread(std::uint32_t index) override {
    if (index == 2) {
      if (!this->guard.try_lock_until(model::now() + 500 + 1'000 * model_env::choose(2))) {
        return;
      }
      this->data.change();
    } else {
      this->guard.lock();
      if (index == 0) {
        this->wait_for_flag();
      } else {
        this->set_flag();
        All ? this->cond->broadcast() : this->cond->signal();
      }
    }
    this->guard.unlock();
  }
};

/// The last of two users destroys the mutex; one waits for it up to a deadline that does not come.
template <class M>
struct timed_last_user final : program {
  alignas(M) unsigned char memory[sizeof(M)];
  M* mutex = ::new (static_cast<void*>(memory)) M;
  protected_data left;

  void thread(std::uint32_t index) override {
    if (index == 0) {
      mutex->lock();
    } else {
      require(mutex->try_lock_until(~std::uint64_t{0}), "time enough");
    }
    left.change();
    const bool last = left.count() == 2;
    mutex->unlock();
    if (last) {
      mutex->~M();
    }
  }
};

/// The queue of signalled waiters of a mutex, changed by several threads at once: no waiter is lost
/// or removed twice.
template <std::uint32_t Threads>
struct queue_changes final : program {
  using waiter = preload::basic_waiter<forked_model, no_mutex>;

  preload::basic_signalled_queue<forked_model, no_mutex> signalled;
  waiter waiters[3] = {waiter{nullptr}, waiter{nullptr}, waiter{nullptr}};

  void thread(std::uint32_t index) override {
    signalled.append(&waiters[index], &waiters[index]);
    pop();
  }
  void after() override {
    while (!signalled.empty()) {
      pop();
    }
    for (std::uint32_t i = 0; i < Threads; ++i) {
      require(waiters[i].keeps_mutex, "every waiter is removed");
    }
  }

 private:
  void pop() {
    if (waiter* first = signalled.pop()) {
      require(!first->keeps_mutex, "only once");
      first->keeps_mutex = true;
    }
  }
};

}  // namespace lockwright::check
