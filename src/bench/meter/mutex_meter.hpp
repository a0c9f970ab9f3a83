// The calls by which a workload uses a mutex, and the measurements around them.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../bench.hpp"
#include "../mutex_calls.hpp"
#include "admission.hpp"
#include "histogram.hpp"

namespace bench {

// A mutex and, on a cache line of their own, the data that only its holder touches.
template <class Mutex>
struct guarded_mutex_of {
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

// In ticks().
struct latencies {
  histogram acquisition;  // from the call, or from when it was due, to the return with the mutex
  histogram hold;         // from there to the call that unlocks
  histogram handover;     // from that call to the return of a thread that waited before it
  histogram operation;    // a whole step, from when it was due
};

enum : unsigned { meters_off = 0, meter_latency = 1, meter_admissions = 2 };

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

  template <class Mutex>
  void lock(guarded_mutex_of<Mutex>& s) {
    const std::uint64_t called = clock();
    mutex_calls<Mutex>::lock(after_work(s.mutex));
    const std::uint64_t now = clock();
    count_acquisition(called, now);
    entered(s, called, now);
  }

  // Returns false if a thread holds it.
  template <class Mutex>
  bool try_lock(guarded_mutex_of<Mutex>& s) {
    const std::uint64_t called = clock();
    if (!mutex_calls<Mutex>::try_lock(after_work(s.mutex))) {
      return false;
    }
    const std::uint64_t now = clock();
    count_acquisition(called, now);
    entered(s, called, now);
    return true;
  }

  template <class Mutex>
  void unlock(guarded_mutex_of<Mutex>& s) {
    leaves(s);
    mutex_calls<Mutex>::unlock(after_work(s.mutex));
  }

  // The wait, which is for a condition and not for the mutex, is no latency of the mutex. The
  // return from it is an acquisition.
  void wait(pthread_cond_t& cond, guarded_mutex& s) {
    leaves(s);
    expect_success(pthread_cond_wait(&cond, &s.mutex), "pthread_cond_wait");
    ++acquisitions_;
    const std::uint64_t now = clock();
    entered(s, now, now);
  }

  // For mutexes too numerous to have a cache line each.
  void lock(pthread_mutex_t& m) {
    const std::uint64_t called = clock();
    mutex_calls<pthread_mutex_t>::lock(after_work(m));
    ++unguarded_;
    count_acquisition(called, clock());
  }
  void unlock(pthread_mutex_t& m) { mutex_calls<pthread_mutex_t>::unlock(after_work(m)); }

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

  [[nodiscard]] std::uint64_t acquisitions() const { return acquisitions_; }
  // Of these, those of a mutex without a site.
  [[nodiscard]] std::uint64_t unguarded() const { return unguarded_; }
  [[nodiscard]] std::uint64_t work_loops() const { return work_loops_; }
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

  template <class Mutex>
  void entered(guarded_mutex_of<Mutex>& s, [[maybe_unused]] std::uint64_t called,
               [[maybe_unused]] std::uint64_t now) {
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

  template <class Mutex>
  void leaves([[maybe_unused]] guarded_mutex_of<Mutex>& s) {
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
};

}  // namespace bench
