// The calls by which a workload uses a mutex, and the measurements around them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "../../calibrate/support.hpp"
#include "../mutex_calls.hpp"
#include "admission.hpp"
#include "histogram.hpp"
#include "lockwright/env/native.hpp"

namespace bench {

// A mutex and, on a cache line of their own, the data that only its holder touches.
template <class Mutex>
struct guarded_mutex_of {
  guarded_mutex_of() = default;
  template <class Settings>
  explicit guarded_mutex_of(const Settings& /*given*/) {}

  // For a thread without a meter.
  void lock() { mutex_calls<Mutex>::lock(&mutex); }
  void unlock() { mutex_calls<Mutex>::unlock(&mutex); }

  alignas(cache_line_pair) Mutex mutex = mutex_calls<Mutex>::initial();
  // Acquisitions, counted by plain instructions: fewer than the threads counted means that two
  // threads were in the section at once.
  alignas(cache_line_pair) std::uint64_t taken = 0;
  // For meters: admissions that were recorded, and ticks().
  std::uint64_t recorded = 0;
  std::uint64_t entered_at = 0;
  std::uint64_t left_at = 0;
};
using guarded_mutex = guarded_mutex_of<pthread_mutex_t>;
static_assert(sizeof(guarded_mutex) == 2 * cache_line_pair &&
              offsetof(guarded_mutex, taken) == cache_line_pair);

// For waiting with a mutex.
struct condition {
  condition() = default;
  template <class Settings>
  explicit condition(const Settings& /*given*/) {}
  void signal() { must(pthread_cond_signal(&cond), "pthread_cond_signal"); }
  void broadcast() { must(pthread_cond_broadcast(&cond), "pthread_cond_broadcast"); }

  alignas(cache_line_pair) pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
};

// In ticks().
struct latencies {
  histogram acquisition;  // from the call, or from when it was due, to the return with the mutex
  histogram hold;         // from there to the call that unlocks
  histogram handover;     // from that call to the return of a thread that waited before it
  histogram operation;    // a whole step, from when it was due
};

// A wait counts from the call to the end of the section, for which the main thread may look while it
// lasts. The section's begin would cost one more reading of the clock, inside the section.
struct wait_record {
  std::atomic<std::uint64_t> since{0};  // ticks() when the thread called; 0 while it does not wait
  std::atomic<std::uint64_t> longest{0};  // in ticks, of the waits that have ended

  void begin() { since.store(ticks(), std::memory_order_relaxed); }
  void end() {
    const std::uint64_t took = ticks() - since.load(std::memory_order_relaxed);
    since.store(0, std::memory_order_relaxed);
    if (took > longest.load(std::memory_order_relaxed)) {
      longest.store(took, std::memory_order_relaxed);
    }
  }
  // The longest so far, with one that has not ended.
  [[nodiscard]] std::uint64_t so_far() const {
    const std::uint64_t began = since.load(std::memory_order_relaxed);
    const std::uint64_t now = ticks();
    const std::uint64_t ended = longest.load(std::memory_order_relaxed);
    return began != 0 && now > began && now - began > ended ? now - began : ended;
  }
};

enum : unsigned { meters_off = 0, meter_latency = 1, meter_admissions = 2, meter_waits = 4 };

// One per thread. Meters that are off cost nothing: they are not compiled in.
template <unsigned Meters>
class alignas(cache_line_pair) mutex_meter {
 public:
  explicit mutex_meter(std::uint64_t window) {
    if constexpr ((Meters & meter_latency) != 0) {
      times_ = std::make_unique<latencies>();
    }
    if constexpr ((Meters & meter_admissions) != 0) {
      order_ = std::make_unique<admission_record>(window);
    }
  }

  template <class Site>
  void lock(Site& s) {
    lock_by(s, [](auto* mutex) {
      mutex_calls<std::remove_pointer_t<decltype(mutex)>>::lock(mutex);
      return true;
    });
  }

  // Returns false if a thread holds it.
  template <class Site>
  bool try_lock(Site& s) {
    return lock_by(s, [](auto* mutex) {
      return mutex_calls<std::remove_pointer_t<decltype(mutex)>>::try_lock(mutex);
    });
  }

  // take: returns true with the mutex.
  template <class Site, class Take>
  bool lock_by(Site& s, Take take) {
    const std::uint64_t called = clock();
    if constexpr ((Meters & meter_waits) != 0) {
      waits_.begin();
    }
    if (!take(after_work(s.mutex))) {
      return false;
    }
    const std::uint64_t now = clock();
    count_acquisition(called, now);
    entered(s, called, now);
    return true;
  }

  template <class Site>
  void unlock(Site& s) {
    leaves(s);
    mutex_calls<decltype(s.mutex)>::unlock(after_work(s.mutex));
    if constexpr ((Meters & meter_waits) != 0) {
      waits_.end();
    }
  }

  // The section changes its data, which costs a simulated thread something.
  template <class Site>
  static void change(Site& /*s*/) {}

  // The wait, which is for a condition and not for the mutex, is not a latency of the mutex. The
  // return from it is an acquisition.
  template <class Site>
  void wait(condition& cond, Site& s) {
    leaves(s);
    must(pthread_cond_wait(&cond.cond, &s.mutex), "pthread_cond_wait");
    ++acquisitions_;
    const std::uint64_t now = clock();
    entered(s, now, now);
  }

  // For mutexes too numerous to have a cache line each.
  void lock_bare(pthread_mutex_t& m) {
    const std::uint64_t called = clock();
    mutex_calls<pthread_mutex_t>::lock(after_work(m));
    ++unguarded_;
    count_acquisition(called, clock());
  }
  void unlock_bare(pthread_mutex_t& m) { mutex_calls<pthread_mutex_t>::unlock(after_work(m)); }

  // Busy work. It ends before the thread's next call: a processor would begin an independent call some
  // hundred cycles early, and a section of that length would cost nothing.
  void work(std::uint64_t loops) {
    work_loops_ += loops;
    chain_ = spin_chain(chain_, loops);
  }

  // due: ticks() when the step was to begin; 0 for now.
  void step_begins(bool measured, [[maybe_unused]] std::uint64_t due) {
    measured_ = measured;
    if constexpr ((Meters & meter_latency) != 0) {
      due_ = due;
      began_ = due != 0 ? due : ticks();
    }
  }
  void step_ended() {
    if constexpr ((Meters & meter_latency) != 0) {
      if (measured_) {
        times_->operation.add(ticks() - began_);
      }
    }
  }

  // How a thread spends time otherwise.
  static void relax() { lockwright::native::relax(); }
  static void sleep(std::uint64_t ns) { sleep_ns(ns); }
  static void move_to(std::size_t place) {
    const auto& processors = allowed_processors();
    pin_to(processors[place % processors.size()]);
  }

  [[nodiscard]] std::uint64_t acquisitions() const { return acquisitions_; }
  // Of these, those of a mutex without a site.
  [[nodiscard]] std::uint64_t unguarded() const { return unguarded_; }
  [[nodiscard]] std::uint64_t work_loops() const { return work_loops_; }
  [[nodiscard]] const wait_record& waits() const { return waits_; }
  [[nodiscard]] const latencies& times() const { return *times_; }
  [[nodiscard]] const admission_record& order() const { return *order_; }

 private:
  // The mutex, at an address that depends on the work before.
  template <class Mutex>
  Mutex* after_work(Mutex& m) const {
    std::uint64_t none = 0;
    asm("" : "+r"(none));  // the compiler must not know
    return reinterpret_cast<Mutex*>(reinterpret_cast<char*>(&m) + (chain_ & none));
  }

  static std::uint64_t clock() {
    if constexpr ((Meters & meter_latency) != 0) {
      return ticks_after_previous();
    }
    return 0;
  }

  void count_acquisition([[maybe_unused]] std::uint64_t called,
                         [[maybe_unused]] std::uint64_t now) {
    ++acquisitions_;
    if constexpr ((Meters & meter_latency) != 0) {
      if (measured_) {
        // Only the first of a step waited for its turn.
        times_->acquisition.add(now - (due_ != 0 ? due_ : called));
        due_ = 0;
      }
    }
  }

  template <class Site>
  void entered(Site& s, [[maybe_unused]] std::uint64_t called, [[maybe_unused]] std::uint64_t now) {
    ++s.taken;
    if constexpr ((Meters & meter_latency) != 0) {
      s.entered_at = now;
      if (measured_ && s.left_at > called) {
        times_->handover.add(now - s.left_at);
      }
    }
    if constexpr ((Meters & meter_admissions) != 0) {
      if (measured_) {
        order_->admitted(s.recorded++);
      }
    }
  }

  template <class Site>
  void leaves([[maybe_unused]] Site& s) {
    if constexpr ((Meters & meter_latency) != 0) {
      s.left_at = ticks_after_previous();
      if (measured_) {
        times_->hold.add(s.left_at - s.entered_at);
      }
    }
  }

  bool measured_ = false;
  std::uint64_t due_ = 0;
  std::uint64_t began_ = 0;
  std::uint64_t acquisitions_ = 0;
  std::uint64_t unguarded_ = 0;
  std::uint64_t work_loops_ = 0;
  std::uint64_t chain_ = 1;
  std::unique_ptr<latencies> times_;
  std::unique_ptr<admission_record> order_;
  // Read by the main thread in the run.
  alignas(cache_line_pair) wait_record waits_;
};

}  // namespace bench
