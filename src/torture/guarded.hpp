// A mutex and the data it guards, which reveals two threads in the section at once.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "worker.hpp"

namespace torture {

// Fails the run unless a pthread call returned 0.
void must(int result, const char* call);

class condition {
 public:
  explicit condition(clockid_t clock);
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition();

  // Destroys and initialises it again, as a program may right after a broadcast.
  void renew();
  void signal() { must(pthread_cond_signal(&cond), "pthread_cond_signal"); }
  void broadcast() { must(pthread_cond_broadcast(&cond), "pthread_cond_broadcast"); }

  pthread_cond_t cond;
  const clockid_t clock;

 private:
  void init();
};

class guarded {
 public:
  guarded(std::uint32_t id, int kind);
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() = default;

  // Destroys the mutex, which must be unused.
  void end();

  void lock(worker& me);
  // Polls; never sleeps.
  void lock_polling(worker& me);
  bool try_lock(worker& me);
  // Returns false if the deadline, `ns` nanoseconds from now, came first. Fails the run if it has not
  // passed by then. The caller is admitted before one that is `far_away`.
  static constexpr std::uint64_t far_away = 3'600'000'000'000;
  bool lock_within(worker& me, std::uint64_t ns);
  void unlock(worker& me);

  // Locks a recursive mutex a second time, and undoes that.
  void lock_again();
  void unlock_again();

  void wait(worker& me, condition& on);
  // Returns false if the deadline came first. Fails the run if it has not passed by then.
  bool wait_within(worker& me, condition& on, std::uint64_t ns);

  // Records the caller as holder, after it acquired the mutex by another call.
  void enter(worker& me);
  void leave(worker& me);

  // The number of sections so far, readable without the mutex.
  [[nodiscard]] std::uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  // The same, exactly, once all threads have ended.
  [[nodiscard]] std::uint64_t counted() const { return left_; }
  [[nodiscard]] std::uint32_t owner() const { return owner_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool recursive() const { return type == PTHREAD_MUTEX_RECURSIVE; }

  const std::uint32_t number;
  const int type;
  alignas(cache_line_pair) pthread_mutex_t mutex;

 private:
  // Plain words on two cache lines, equal while no thread is in the section. A thread that enters
  // too early, or does not see its predecessor's writes, finds them different.
  alignas(cache_line_pair) std::uint64_t left_ = 0;
  std::atomic<std::uint32_t> owner_{0};
  std::atomic<std::uint64_t> entries_{0};
  alignas(cache_line_pair) std::uint64_t right_ = 0;
};

}  // namespace torture
