// The programs that condition variables and semaphores have to survive, whatever the interleaving.
#pragma once

#include <cstdint>
#include <exception>
#include <new>

#include "lockwright/lock.hpp"
#include "scenarios.hpp"
#include "signalling.hpp"
#include "units.hpp"

namespace lockwright::check {

/// A process that is not the first of its chain of forks: its objects carry a stamp.
struct forked_model : model {
  static std::uint32_t stamp() { return 0x0001'0000; }
};

/// What src/preload/own_mutex.hpp makes of a lock, for a mutex that does not ask who holds it.
template <class L>
class model_mutex {
 public:
  using object = model_mutex;
  static constexpr bool waiters_sleep = L::traits.parks();

  void lock() {
    lock_.lock();
    owner_.store(model::self(), std::memory_order_relaxed);
  }

  void unlock() {
    if (line_.empty()) {
      disown_and_unlock();
    } else {
      line_.grant_first_after([this] { disown_and_unlock(); });
    }
  }

  static preload::basic_waiter_line<forked_model, model_mutex>* line(model_mutex* mutex) {
    return &mutex->line_;
  }
  static bool is_held_by_caller(model_mutex* mutex) {
    return mutex->owner_.load(std::memory_order_relaxed) == model::self();
  }
  static int reacquire(model_mutex* mutex) {
    mutex->lock();
    return 0;
  }

 protected:
  void disown_and_unlock() {
    owner_.store(0, std::memory_order_relaxed);
    lock_.unlock();
  }

  L lock_;
  preload::basic_waiter_line<forked_model, model_mutex> line_;
  model::atomic<std::uint32_t> owner_{0};
};

/// How a thread waits.
enum class patience : std::uint8_t {
  endless,      ///< until it is signalled
  timed,        ///< until a deadline, which may come at any moment
  cancellable,  ///< until it is cancelled, at any moment
};

enum class ending : std::uint8_t { signalled, timed_out, cancelled };

/// Sleeps of the three kinds on the waiter's word, for sleep_until_claimed(). Asynchronous
/// cancellation leaves the sleep at any moment by a long jump; an exception stands for that.
struct cancellation : std::exception {};

template <class Waiter>
bool sleep_once(Waiter& self, patience how) {
  if (how == patience::endless) {
    model::wait(self.state, Waiter::waiting);
    return true;
  }
  const bool over =
      model_env::futex_wait_a_while(self.state, Waiter::waiting, model::location::current());
  if (how == patience::timed) {
    return !over;
  }
  if (over || model_env::choose(2) == 1) {
    throw cancellation{};
  }
  return true;
}

/// A frame of the stack in which a thread waits: gone when the wait is over, so that whoever comes
/// too late is caught, and used again by the next wait.
template <class Wait>
class frame {
 public:
  /// The wait that make() returns, which cannot be moved.
  template <class Make>
  Wait& enter(Make make) {
    return *::new (static_cast<void*>(room_)) Wait(make());
  }
  static void leave(Wait& wait) { wait.~Wait(); }

 private:
  alignas(Wait) unsigned char room_[sizeof(Wait)];
};

/// A mutex and a condition variable, and what wait_own() in src/preload/cond.cpp does with them.
template <class L, template <class> class Mutex, template <class, class> class Condvar>
class cond_program : public program {
 public:
  using mutex = Mutex<L>;
  using condvar = Condvar<forked_model, mutex>;
  using waiter = preload::basic_waiter<forked_model, typename mutex::object>;
  using wait_type = preload::wait_with<forked_model, mutex, condvar>;

  mutex guard;
  alignas(condvar) unsigned char room[sizeof(condvar)];
  condvar* cond = ::new (static_cast<void*>(room)) condvar;
  protected_data data;
  model::plain<std::uint32_t> flag{0};
  frame<wait_type> frames[model_env::most_threads];

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

  ending wait(patience how = patience::endless, bool at_end = true, bool keeps = false) {
    wait_type& wait =
        frames[rl::thread_index()].enter([this] { return wait_type{*cond, waiter(&guard)}; });
    wait.self.keeps = keeps;
    cond->enqueue(wait.self, at_end);
    if (!keeps) {
      guard.unlock();
    }
    const ending end = await_signal(wait, how);
    if (end == ending::signalled) {
      wait.self.await_grant();
    }
    if (end != ending::cancelled && !keeps) {
      wait.take_mutex_again();
    }
    frame<wait_type>::leave(wait);
    data.change();  // Only who has the mutex may.
    return end;
  }

  void wait_for_flag(bool at_end = true) {
    while (flag == 0) {
      wait(patience::endless, at_end);
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
  static ending await_signal(wait_type& wait, patience how) {
    // The handler runs when the exception is over: other threads throw meanwhile.
    ending end = ending::timed_out;
    try {
      if (wait.sleep_until_signalled(true, [&] { return sleep_once(wait.self, how); })) {
        end = ending::signalled;
      }
    } catch (const cancellation&) {
      end = ending::cancelled;
    }
    if (end == ending::cancelled) {
      wait.cancel();
    }
    return end;
  }
};

/// A signal under the mutex, or after it has been released. Also: no signal is needed when the
/// flag is set before the wait.
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

/// Two threads wait for each other in turn, so that frames and queue are used again.
template <class P>
struct cond_ring final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    for (std::uint32_t i = 0; i < 2; ++i) {
      while (this->flag % 2 != index) {
        this->wait();
      }
      this->flag = this->flag + 1;
      this->cond->signal();
    }
    this->guard.unlock();
  }
  void after() override {
    require(this->flag == 4, "everybody had every turn");
    P::after();
  }
};

/// All that wait are let go by one broadcast.
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

/// A wait that may end early, against a signal: if that does not end it, the waiter comes again.
template <class P, patience How>
struct cond_hurried final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 0) {
      if (this->flag == 0 && this->wait(How) == ending::signalled) {
        require(this->flag == 1, "nobody wakes without cause");
      }
      this->wait_for_flag();
    } else {
      this->set_flag();
      this->cond->signal();
    }
    this->guard.unlock();
  }
};

/// The same beside a patient waiter, who is not to lose the one signal by it. Who is signalled
/// without need passes it on; who is cancelled has that done for it. Both are put at the end of the
/// queue, or at its head. All: both are signalled, by a broadcast.
template <class P, patience How, bool Inside, bool AtEnd, bool All = false>
struct cond_beside final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 0) {
      if (this->flag == 0 && this->wait(How, AtEnd) == ending::signalled) {
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

/// The condition variable ends right after a broadcast, while waiters are on their way.
template <class P, patience How, bool Inside, std::uint32_t Threads>
struct cond_destroyed final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index != Threads - 1) {
      if (this->flag == 0) {
        this->wait(How);
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

/// The waiter is the last user of both, and destroys them as soon as it is through.
template <class P, bool Broadcast>
struct cond_last_user final : program {
  alignas(P) unsigned char room[sizeof(P)];
  P* shared = ::new (static_cast<void*>(room)) P;

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

/// The same where nobody has the mutex when the signal comes.
template <class P>
struct cond_last_user_outside final : program {
  alignas(P) unsigned char room[sizeof(P)];
  P* shared = ::new (static_cast<void*>(room)) P;

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

/// One signal wakes who is at the head of the queue: the first to come, if all are put at its end,
/// or the last, if all are put at its head.
template <class P, bool AtEnd>
struct cond_order final : P {
  void thread(std::uint32_t index) override {
    this->guard.lock();
    if (index == 2) {
      const std::uint32_t came = this->came_;
      const std::uint32_t first = this->first_;
      this->expected_ = came < 2 || AtEnd ? first : 1 - first;
      this->set_flag();
      came == 0 ? void() : this->cond->signal();
    } else if (this->flag == 0) {
      if (this->came_ == 0) {
        this->first_ = index;
      }
      this->came_ = this->came_ + 1;
      this->wait(patience::endless, AtEnd);
      if (this->flag == 1) {
        require(this->expected_ == index, "the head of the queue is woken");
        this->flag = 2;
        this->cond->signal();
      }
    }
    this->guard.unlock();
  }

 private:
  model::plain<std::uint32_t> came_{0};
  model::plain<std::uint32_t> first_{0};
  model::plain<std::uint32_t> expected_{0};
};

/// Each of two that wait is put at the head or the end of the queue, by chance, and gets a signal.
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

/// A wait that keeps a mutex of which the thread has more than one hold: signals come without it.
template <class P>
struct cond_kept final : P {
  void thread(std::uint32_t index) override {
    if (index == 0) {
      this->guard.lock();
      this->wait(patience::endless, true, true);
      this->guard.unlock();
      this->through_.store(1, std::memory_order_release);
      return;
    }
    while (this->through_.load(std::memory_order_acquire) == 0) {
      this->cond->broadcast();
      model::yield();
    }
  }

 private:
  model::atomic<std::uint32_t> through_{0};
};

struct no_mutex {};

/// The line of a mutex, changed by several threads at once: nobody is lost, and nobody comes twice.
template <std::uint32_t Threads>
struct line_changes final : program {
  using waiter = preload::basic_waiter<forked_model, no_mutex>;

  preload::basic_waiter_line<forked_model, no_mutex> line;
  waiter waiters[3] = {waiter{nullptr}, waiter{nullptr}, waiter{nullptr}};

  void thread(std::uint32_t index) override {
    line.append(&waiters[index], &waiters[index]);
    pop();
  }
  void after() override {
    while (!line.empty()) {
      pop();
    }
    for (std::uint32_t i = 0; i < Threads; ++i) {
      require(waiters[i].keeps, "everybody came");
    }
  }

 private:
  void pop() {
    if (waiter* first = line.pop()) {
      require(!first->keeps, "once");
      first->keeps = true;
    }
  }
};

struct no_signals {};

/// A semaphore, and what wait_own() in src/preload/semaphore.cpp does with it.
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
    ending end = ending::timed_out;
    try {
      if (wait.sleep_until_granted(true, [&] { return sleep_once(wait.self, how); })) {
        end = ending::signalled;
      }
    } catch (const cancellation&) {
      end = ending::cancelled;
    }
    if (end == ending::cancelled) {
      wait.cancel();
    }
    return end;
  }
};

/// One unit, that goes round: a mutex. Who waits is put at the end of the queue, or there or at its
/// head by chance.
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

/// Nobody waits who only tries.
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

/// The same beside a patient waiter, who gets the one unit if the other does not keep it. Both are
/// put at the end of the queue, or at its head.
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

/// Who gets the unit destroys the semaphore.
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
