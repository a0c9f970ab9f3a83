// The environment of a workload on the simulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../lock_call.hpp"
#include "../workload.hpp"
#include "data.hpp"
#include "guarded.hpp"

namespace lockwright::simulate {

/// The data of its section change with each acquisition.
struct simulated_mutex {
  explicit simulated_mutex(const context& with) : at{with.make_site()} {}
  std::unique_ptr<site> at;
};

class simulated_mutexes {
 public:
  simulated_mutexes(const context& with, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      all_.emplace_back(with);
    }
  }
  simulated_mutex& operator[](std::size_t i) { return all_[i]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  std::vector<simulated_mutex> all_;
};

/// With condition variables as the preload libraries have them.
struct simulated_monitor {
  explicit simulated_monitor(const context& with) : at{placed<guarded>(with.in, with)} {}
  void lock() { at.lock(); }
  void unlock() { at.unlock(); }
  guarded& at;
};

struct simulated_condition {
  explicit simulated_condition(const context& with) : at{placed<guarded::condvar>(with.in)} {}
  void signal() { at.signal(); }
  void broadcast() { at.broadcast(); }
  guarded::condvar& at;
};

/// Locks that are made and destroyed.
class simulated_bare_mutexes {
 public:
  simulated_bare_mutexes(const context& with, std::size_t count)
      : in_{with.in},
        lock_{*with.lock},
        count_{count},
        size_{(lock_.bytes + lock_.alignment - 1) / lock_.alignment * lock_.alignment},
        memory_{static_cast<char*>(in_.memory.cut(count * size_ + workloads::cache_line_pair,
                                                  workloads::cache_line_pair))} {}
  [[nodiscard]] std::size_t size() const { return count_; }

  void make() {
    for (std::size_t i = 0; i < count_; ++i) {
      call(lock_.make, i);
    }
  }

  template <class Meter>
  void use(std::uint64_t pairs, Meter& /*meter*/) {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::uint64_t pair = 0; pair < pairs; ++pair) {
        call(lock_.lock, i);
        in_.pass_time();
        call(lock_.unlock, i);
      }
    }
  }

  void destroy() {
    in_.drain_stores();
    for (std::size_t i = 0; i < count_; ++i) {
      call(lock_.destroy, i);
    }
  }

 private:
  template <class Function>
  void call(Function function, std::size_t mutex) {
    const lock_call timed{in_};
    function(memory_ + mutex * size_);
  }

  simulation& in_;
  const lock_entry& lock_;
  std::size_t count_;
  std::size_t size_;
  char* memory_;
};

class simulated_rwlock {
 public:
  explicit simulated_rwlock(const context& with)
      : site_{with.in, *with.rwlock, with.count("data-lines"), with.readers_and_writers,
              with.shown} {}

  struct user {
    user(simulated_rwlock& all, std::size_t /*index*/) : at{all.site_} {}
    void lock_read() { at.lock_read(); }
    void begin_look() { at.check_data(); }
    void end_look() { at.check_data(); }
    void unlock_read() { at.unlock_read(); }
    void lock_write() { at.lock_write(); }
    void begin_change() { at.change_data(); }
    void end_change() {}
    void unlock_write() { at.unlock_write(); }
    rw_site& at;
  };

  [[nodiscard]] static std::string find_fault() { return ""; }

 private:
  rw_site site_;
};

struct simulated_word {
  simulated_word() : value{placed<simulated::atomic<std::uint32_t>>(running(), 0u)} {}
  explicit simulated_word(const context& /*with*/) : simulated_word{} {}
  simulated::atomic<std::uint32_t>& value;
};

struct on_machine {
  using settings = context;
  using random = drawing;
  using mutex = simulated_mutex;
  using mutexes = simulated_mutexes;
  using monitor = simulated_monitor;
  using condition = simulated_condition;
  using bare_mutexes = simulated_bare_mutexes;
  using rwlock = simulated_rwlock;
  using word = simulated_word;

  using array = simulated_array;
  using ring = simulated_ring;
  using keys = simulated_keys;
  using key_map = simulated_key_map;
  using key_cache = simulated_key_cache;

  static void wait(word& w, std::uint32_t seen) { simulated::wait(w.value, seen); }
  /// Returns 0: how many were woken is not told.
  static int wake(word& w, int how_many) {
    simulated::wake(w.value, static_cast<std::uint32_t>(how_many));
    return 0;
  }
};

/// A thread's use of mutexes, which the sites record.
class simulated_meter {
 public:
  explicit simulated_meter(simulation& in) : in_{in} {}

  static void lock(simulated_mutex& m) {
    m.at->lock();
    m.at->change_data();
  }
  static bool try_lock(simulated_mutex& m) {
    const bool taken = m.at->try_lock();
    if (taken) {
      m.at->change_data();
    }
    return taken;
  }
  static void unlock(simulated_mutex& m) { m.at->unlock(); }

  static void lock(simulated_monitor& m) { m.at.lock(); }
  static void unlock(simulated_monitor& m) { m.at.unlock(); }
  static void wait(simulated_condition& cond, simulated_monitor& m) { m.at.wait(cond.at); }
  static void change(simulated_monitor& m) { m.at.change_data(); }

  void work(picoseconds length) { in_.work(length); }
  static void relax() { simulated::relax(); }
  void sleep(std::uint64_t ns) {
    bed_ = bed_ != nullptr ? bed_ : &placed<simulated::atomic<std::uint32_t>>(in_, 0u);
    simulated::wait_until(*bed_, 0, simulated::now() + ns);
  }
  void move_to(std::size_t place) {
    in_.move_to(static_cast<std::uint32_t>(place % in_.on().processors()));
  }

 private:
  simulation& in_;
  simulated::atomic<std::uint32_t>* bed_ = nullptr;  ///< where it sleeps
};

}  // namespace lockwright::simulate
