// The classes of C++20's <mutex>, <shared_mutex>, <condition_variable> and <stop_token> that use POSIX
// objects, with the C++ library's threads.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>

#include "../support/check.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int workers = 3;
constexpr int rounds = 1'000;
// Limits the rounds of one mutex: where waiters poll in a queue, each may take a time slice.
constexpr int budget_ms = 100;

template <class Body>
void in_threads(Body body) {
  std::vector<std::jthread> all;
  for (int i = 0; i < workers; ++i) all.emplace_back([&, i] { body(i); });
}

template <class Mutex>
void exclusion() {
  Mutex mutex;
  long counter = 0;
  std::atomic<long> entered{0};
  const check::Budget budget{budget_ms};
  in_threads([&](int) {
    int i = 0;
    do {
      {
        const std::lock_guard hold{mutex};
        ++counter;
      }
      std::unique_lock hold{mutex, std::try_to_lock};
      if (!hold.owns_lock()) hold.lock();
      ++counter;
    } while (++i < rounds && !budget.spent());
    entered += 2 * i;
  });
  CHECK_EQ(entered.load(), counter);
}

template <class Mutex>
void recursion() {
  Mutex mutex;
  const std::scoped_lock outer{mutex};
  const std::unique_lock inner{mutex, std::try_to_lock};
  CHECK(inner.owns_lock());
  std::jthread{[&] { CHECK(!mutex.try_lock()); }}.join();
}

template <class Mutex>
void timeouts() {
  Mutex mutex;
  std::unique_lock hold{mutex};
  std::jthread{[&] {
    CHECK(!mutex.try_lock_for(1ms));
    CHECK(!mutex.try_lock_until(std::chrono::steady_clock::now() + 1ms));
    CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + 1ms));
  }}.join();
  hold.unlock();
  std::jthread{[&] {
    CHECK(mutex.try_lock_for(60s));
    mutex.unlock();
  }}.join();
}

CASE("mutexes") {
  exclusion<std::mutex>();
  exclusion<std::timed_mutex>();
  exclusion<std::recursive_mutex>();
  exclusion<std::recursive_timed_mutex>();
  exclusion<std::shared_mutex>();
  exclusion<std::shared_timed_mutex>();
  recursion<std::recursive_mutex>();
  recursion<std::recursive_timed_mutex>();
  timeouts<std::timed_mutex>();
  timeouts<std::recursive_timed_mutex>();
  timeouts<std::shared_timed_mutex>();
};

CASE("several at once") {
  std::mutex a;
  std::timed_mutex b;
  std::recursive_mutex c;
  long counter = 0;
  std::atomic<long> entered{0};
  const check::Budget budget{budget_ms};
  in_threads([&](int i) {
    int n = 0;
    do {
      if (i == 0) {
        const std::scoped_lock hold{a, b, c};
        ++counter;
      } else {
        std::unique_lock first{c, std::defer_lock};
        std::unique_lock second{a, std::defer_lock};
        if (std::try_lock(first, second) != -1) std::lock(first, second);
        ++counter;
      }
    } while (++n < rounds && !budget.spent());
    entered += n;
  });
  CHECK_EQ(entered.load(), counter);
};

CASE("shared mutexes") {
  std::shared_timed_mutex mutex;
  long counter = 0;
  in_threads([&](int i) {
    for (int n = 0; n < rounds; ++n) {
      if (i == 0) {
        const std::unique_lock hold{mutex};
        counter += 2;
      } else {
        const std::shared_lock hold{mutex};
        CHECK(counter % 2 == 0);
      }
    }
  });
  const std::shared_lock hold{mutex};
  std::jthread{[&] {
    const std::shared_lock also{mutex, 60s};
    CHECK(also.owns_lock());
    CHECK(!mutex.try_lock_for(1ms));
  }}.join();
};

template <class Condition, class Mutex>
void alternate() {
  Condition changed;
  Mutex mutex;
  int turn = 0;
  int rounds_each = 50;
  const check::Budget budget{budget_ms};
  in_threads([&](int i) {
    std::unique_lock hold{mutex};
    for (int n = 0; n < rounds_each; ++n) {
      if (n % 3 == 0) changed.wait(hold, [&] { return turn % workers == i; });
      if (n % 3 == 1) CHECK(changed.wait_for(hold, 60s, [&] { return turn % workers == i; }));
      if (n % 3 == 2)
        CHECK(changed.wait_until(hold, std::chrono::system_clock::now() + 60s,
                                 [&] { return turn % workers == i; }));
      ++turn;
      // The first thread begins each round, and all threads complete it.
      if (i == 0 && n >= 2 && budget.spent()) rounds_each = n + 1;
      changed.notify_all();
    }
  });
  CHECK_EQ(rounds_each * workers, turn);
  std::unique_lock hold{mutex};
  CHECK(changed.wait_for(hold, 1ms) == std::cv_status::timeout);
  CHECK(changed.wait_until(hold, std::chrono::system_clock::now() + 1ms) ==
        std::cv_status::timeout);
  CHECK(!changed.wait_for(hold, 1ms, [] { return false; }));
}

CASE("condition variables") {
  alternate<std::condition_variable, std::mutex>();
  alternate<std::condition_variable_any, std::mutex>();
  alternate<std::condition_variable_any, std::timed_mutex>();
  alternate<std::condition_variable_any, std::recursive_mutex>();
  alternate<std::condition_variable_any, std::shared_mutex>();
  std::condition_variable ended;
  std::mutex mutex;
  bool done = false;
  std::unique_lock hold{mutex};
  std::jthread last{[&] {
    std::unique_lock held{mutex};
    done = true;
    std::notify_all_at_thread_exit(ended, std::move(held));
  }};
  ended.wait(hold, [&] { return done; });
};

CASE("stop tokens") {
  std::condition_variable_any changed;
  std::mutex mutex;
  std::atomic<int> called{0};
  std::jthread waiter{[&](const std::stop_token& token) {
    std::unique_lock hold{mutex};
    CHECK(!changed.wait(hold, token, [] { return false; }));
    CHECK(!changed.wait_for(hold, token, 60s, [] { return false; }));
    CHECK(token.stop_requested());
  }};
  // In the thread it might be destroyed before it is called: the wait has a callback too.
  const std::stop_callback callback{waiter.get_stop_token(), [&] { ++called; }};
  CHECK(waiter.request_stop());
  CHECK(!waiter.request_stop());
  waiter.join();
  CHECK_EQ(1, called.load());
  std::stop_source source;
  CHECK(source.stop_possible() && !source.get_token().stop_requested());
};

}  // namespace
