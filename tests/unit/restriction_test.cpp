// The algorithms that restrict concurrency: few threads circulate, and all acquire.
#include <algorithm>
#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/lifo_cr.hpp"
#include "lockwright/row/loiter.hpp"
#include "lockwright/row/malth_spin.hpp"
#include "lockwright/row/malth_stp.hpp"
#include "lockwright/row/mcs_stp.hpp"
#include "lockwright/row/mcscrn.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

/// The longest waiter is admitted once in so many unlocks, not in a thousand, so that all threads
/// enter soon.
constexpr std::uint64_t admits_the_oldest_one_in = 25;

/// A critical section takes as long as a few polls here, not as a fraction of one; arriving threads
/// make more polls, so that they race for several sections as in the native environment.
constexpr std::uint64_t attempts = 64;

struct impatient : observed {
  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    const std::string_view name{What.name};
    if (name == "fairness" || name == "patience") {
      return admits_the_oldest_one_in;
    }
    if (name == "attempts") {
      return attempts;
    }
    return observed::setting<What, Lock>();
  }
  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return setting<What, nullptr>();
  }
};

/// The order of admissions.
struct history {
  static constexpr std::size_t window = 50;
  std::vector<int> admissions;
  std::vector<int> times;  ///< how often each thread was admitted

  /// Distinct threads in a window of admissions, on average: the lock's working set (Dice, EuroSys
  /// 2017, calls it LWSS).
  [[nodiscard]] double working_set() const {
    std::size_t sum = 0;
    std::size_t windows = 0;
    for (std::size_t start = 0; start + window <= admissions.size(); start += window, ++windows) {
      const auto begin = admissions.begin() + static_cast<std::ptrdiff_t>(start);
      sum += std::set<int>(begin, begin + window).size();
    }
    return static_cast<double>(sum) / static_cast<double>(windows);
  }
  [[nodiscard]] bool all_were_admitted(int minimum) const {
    return std::all_of(times.begin(), times.end(), [minimum](int n) { return n >= minimum; });
  }
};

constexpr int threads = 32;

/// Sleep replaces work, as if each thread had a processor. A gap takes about four times as long as
/// a section, so five threads saturate the lock. Ends when every thread was admitted twice.
template <class L>
history circulate() {
  constexpr std::size_t least = 20 * history::window;
  history result;
  result.times.resize(threads);
  L lock;
  std::atomic<bool> enough{false};
  in_parallel(threads, [&](int i) {
    while (!enough.load()) {
      lock.lock();
      result.admissions.push_back(i);
      ++result.times[static_cast<std::size_t>(i)];
      if (result.admissions.size() >= least && result.all_were_admitted(2)) {
        enough = true;
      }
      std::this_thread::sleep_for(300us);
      lock.unlock();
      std::this_thread::sleep_for(1500us);
    }
  });
  return result;
}

template <class Row>
class Restriction : public lock_test {
 protected:
  using lock_type = typename Row::template lock<impatient>;
};

/// Every algorithm that restricts concurrency belongs here.
using restricting =
    ::testing::Types<lockwright::malth_spin_row, lockwright::malth_stp_row, lockwright::mcscrn_row,
                     lockwright::lifo_cr_row, lockwright::loiter_row>;

struct row_name {
  template <class Row>
  static std::string GetName(int) {
    return Row::name;
  }
};
TYPED_TEST_SUITE(Restriction, restricting, row_name);

TYPED_TEST(Restriction, few_threads_circulate_and_all_acquire) {
  for (const std::uint64_t spinning : {std::uint64_t{1'000'000'000'000}, std::uint64_t{10'000}}) {
    bound = spinning;
    EXPECT_LT(circulate<typename TestFixture::lock_type>().working_set(), threads / 2.0);
  }
}

// The same measure detects a lock without restriction.
TEST(WorkingSet, is_large_if_all_threads_circulate) {
  bound = 1'000'000'000'000;
  EXPECT_GT(circulate<lockwright::mcs_stp_lock<impatient>>().working_set(), threads / 2.0);
}

}  // namespace
