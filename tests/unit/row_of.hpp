// A lock of the registry behind the interface of the tests.
#pragma once

#include <cstring>

#include "measures.hpp"
#include "rows.hpp"

namespace testing_locks {

/// Passes the calls on to a lock that exists as long.
template <class L>
class calls_of : public any_lock {
 public:
  explicit calls_of(L& lock) : lock_{lock} {}
  lockwright::arrival lock() override { return lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  void unlock() override { lock_.unlock(); }
  bool try_lock_until([[maybe_unused]] std::uint64_t deadline) override {
    if constexpr (lockwright::TimedLock<L>) {
      return lock_.try_lock_until(deadline);
    } else {
      std::abort();
    }
  }

 private:
  L& lock_;
};

template <class L>
struct member {
  L made{};
};

/// A lock in zeroed memory, without a constructor call.
template <class L>
class zeroed {
 protected:
  zeroed() { std::memset(bytes_, 0, sizeof bytes_); }
  zeroed(const zeroed&) = delete;
  zeroed& operator=(const zeroed&) = delete;
  ~zeroed() { get().~L(); }
  L& get() { return *reinterpret_cast<L*>(bytes_); }

 private:
  alignas(64) unsigned char bytes_[sizeof(L)];
};

template <class L>
struct owned : private member<L>, public calls_of<L> {
  owned() : calls_of<L>{this->made} {}
};

template <class L>
struct owned_zeroed : private zeroed<L>, public calls_of<L> {
  owned_zeroed() : calls_of<L>{this->get()} {}
};

template <class L>
constinit L made_at_start{};

template <class Row>
std::unique_ptr<any_lock> make_lock(environment in) {
  switch (in) {
    case environment::native:
      return std::make_unique<owned<typename Row::template lock<lockwright::native>>>();
    case environment::observed:
      return std::make_unique<owned<typename Row::template lock<observed>>>();
    case environment::watched:
      return std::make_unique<owned<typename Row::template lock<watched>>>();
  }
  return nullptr;
}

template <class Row>
tested_row row_of() {
  using N = typename Row::template lock<lockwright::native>;
  using L = typename Row::template lock<observed>;
  static_assert(lockwright::TryLock<N>);
  static_assert(
      N::traits.category == lockwright::category::library || (sizeof(N) <= 16 && alignof(N) <= 8),
      "the state fits behind the words of the POSIX layer");
  std::vector<const lockwright::tunable*> tunables;
  if constexpr (requires { N::tunables; }) {
    tunables.assign(std::begin(N::tunables), std::end(N::tunables));
  }
  return {.name = Row::name,
          .traits = N::traits,
          .tunables = std::move(tunables),
          .timed = lockwright::TimedLock<L>,
          .timed_in_library = lockwright::TimedLock<N>,
          .fair_between_nodes = lockwright::fair_between_nodes<L>(),
          .make = make_lock<Row>,
          .on_zeroed_memory = []() -> std::unique_ptr<any_lock> {
            return std::make_unique<owned_zeroed<L>>();
          },
          .at_start = []() -> std::unique_ptr<any_lock> {
            return std::make_unique<calls_of<L>>(made_at_start<L>);
          }};
}

}  // namespace testing_locks
