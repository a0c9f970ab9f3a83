// Threads that execute one command at a time for a coordinator, which knows whether a thread has
// completed its command or is blocked in it. They communicate by futexes only, which are not under
// test.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../support/check.hpp"

namespace fuzz {

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

class Member {
 public:
  Member() { start(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Starts `work`, which returns the line to print.
  void assign(std::function<std::string()> work) {
    work_ = std::move(work);
    answer_.clear();
    state_.store(working, std::memory_order_release);
    futex_wake(state_);
  }

  [[nodiscard]] bool is_working() const {
    return state_.load(std::memory_order_acquire) == working;
  }

  // Returns the line of completed work, once.
  std::string take_answer() { return std::move(answer_); }

  [[nodiscard]] pthread_t handle() const { return handle_; }

  // Returns nanoseconds of processor time.
  [[nodiscard]] std::int64_t processor_time() const {
    clockid_t clock;
    return pthread_getcpuclockid(handle_, &clock) == 0 ? check::nanoseconds(clock) : 0;
  }

  [[nodiscard]] bool sleeps() const { return check::sleeps(tid_.load()); }

  // Ends the thread, or waits for the end of a cancelled one, and starts another in its place.
  std::string restart(bool cancelled) {
    if (!cancelled) {
      state_.store(leaving, std::memory_order_release);
      futex_wake(state_);
    }
    void* result = nullptr;
    pthread_join(handle_, &result);
    start();
    return result == PTHREAD_CANCELED ? "cancelled" : "ended";
  }

  // Sets the line to print for work that does not return.
  void set_answer(std::string words) { answer_ = std::move(words); }

  // True if a cancellation has ended the thread.
  std::atomic<bool> gone{false};

 private:
  enum : std::uint32_t { idle, working, leaving };

  void start() {
    state_.store(idle);
    gone.store(false);
    tid_.store(0);
    if (pthread_create(&handle_, nullptr, &Member::enter, this) != 0) std::abort();
    while (tid_.load() == 0) usleep(50);
  }

  static void* enter(void* member) {
    Member& self = *static_cast<Member*>(member);
    self.tid_.store(static_cast<int>(syscall(SYS_gettid)));
    for (;;) {
      const std::uint32_t state = self.state_.load(std::memory_order_acquire);
      if (state == leaving) return nullptr;
      if (state == idle) {
        futex_wait(self.state_, idle);
        continue;
      }
      self.answer_ = self.work_();
      self.state_.store(idle, std::memory_order_release);
    }
  }

  std::function<std::string()> work_;
  std::string answer_;
  pthread_t handle_{};
  std::atomic<int> tid_{0};
  std::atomic<std::uint32_t> state_{idle};
};

// Returns when every member is idle, gone or blocked: asleep in the kernel, or it has used so much
// processor time since any thread last made progress that it must be polling. A woken sleeper
// counts as running at once, so two checks with nothing new between them are enough.
inline void settle(const std::vector<std::unique_ptr<Member>>& members) {
  constexpr std::int64_t enough = 3'000'000;
  std::vector<std::int64_t> since(members.size(), -1);
  std::vector<bool> worked(members.size(), false);
  for (int quiet = 0; quiet < 2;) {
    bool all = true;
    bool changed = false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const bool works = !members[i]->gone && members[i]->is_working();
      changed = changed || works != worked[i] || since[i] < 0;
      worked[i] = works;
      all = all &&
            (!works || members[i]->sleeps() || members[i]->processor_time() - since[i] > enough);
    }
    if (changed) {
      for (std::size_t i = 0; i < members.size(); ++i)
        since[i] = worked[i] ? members[i]->processor_time() : 0;
    }
    quiet = all && !changed ? quiet + 1 : 0;
    usleep(all ? 30 : 100);
  }
}

}  // namespace fuzz
