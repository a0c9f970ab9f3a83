// The environment of a workload that runs on this machine, on POSIX calls or on a lock's header.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../meter/mutex_meter.hpp"
#include "../rwlock_calls.hpp"
#include "data.hpp"
#include "settings.hpp"

namespace bench {

// Any number of mutexes.
template <class Mutex>
class mutex_array_of {
 public:
  mutex_array_of(const settings& /*given*/, std::size_t count)
      : count_{count}, sites_{new guarded_mutex_of<Mutex>[count]} {}
  guarded_mutex_of<Mutex>& operator[](std::size_t i) { return sites_[i]; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      sum += sites_[i].taken;
    }
    return sum;
  }

 private:
  std::size_t count_;
  std::unique_ptr<guarded_mutex_of<Mutex>[]> sites_;
};

// Mutexes that are made and destroyed.
class bare_mutexes {
 public:
  bare_mutexes(const settings& /*given*/, std::size_t count) : mutexes_(count) {}
  [[nodiscard]] std::size_t size() const { return mutexes_.size(); }

  void make() {
    for (pthread_mutex_t& m : mutexes_) {
      must(pthread_mutex_init(&m, nullptr), "pthread_mutex_init");
    }
  }
  template <class Meter>
  void use(std::uint64_t pairs, Meter& meter) {
    for (pthread_mutex_t& m : mutexes_) {
      for (std::uint64_t i = 0; i < pairs; ++i) {
        meter.lock_bare(m);
        meter.unlock_bare(m);
      }
    }
  }
  void destroy() {
    for (pthread_mutex_t& m : mutexes_) {
      must(pthread_mutex_destroy(&m), "pthread_mutex_destroy");
    }
  }

 private:
  std::vector<pthread_mutex_t> mutexes_;
};

template <class Mutex>
struct native_env {
  using settings = bench::settings;
  using random = random_source;
  using mutex = guarded_mutex_of<Mutex>;
  using monitor = mutex;
  using mutexes = mutex_array_of<Mutex>;
  using condition = bench::condition;
  using bare_mutexes = bench::bare_mutexes;
  using rwlock = bench::rwlock_calls;

  using array = bench::array;
  using ring = bench::ring;
  using keys = bench::keys;
  using key_map = bench::key_map;
  using key_cache = bench::key_cache;

  struct alignas(cache_line_pair) word {
    word() = default;
    explicit word(const settings& /*given*/) {}
    std::atomic<std::uint32_t> value{0};
  };
  static void wait(word& w, std::uint32_t seen) { futex_wait(w.value, seen); }
  static int wake(word& w, int how_many) { return futex_wake(w.value, how_many); }
};

using posix = native_env<pthread_mutex_t>;
using with_one_mutex = lockwright::workloads::with_one<guarded_mutex>;

}  // namespace bench
