// The algorithms that restrict concurrency: few threads circulate, and all get in.
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

/// They admit the thread that waits longest once in so many unlocks, not in a thousand, so that all
/// threads are seen soon.
constexpr std::uint64_t admits_the_oldest_one_in = 25;

/// Here a critical section takes as long as a few polls, not as a fraction of one; so that arriving
/// threads race for several sections, as they do elsewhere, they poll more often.
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

/// The order in which threads were inside.
struct history {
  static constexpr std::size_t window = 50;
  std::vector<int> admissions;
  std::vector<int> times;  ///< that each thread was inside

  /// Distinct threads in a window of admissions, on average: the lock's working set (Dice, EuroSys
  /// 2017, calls it LWSS).
  [[nodiscard]] double working_set() const {
    std::size_t sum = 0;
    std::size_t windows = 0;
    for (std::size_t at = 0; at + window <= admissions.size(); at += window, ++windows) {
      const auto begin = admissions.begin() + static_cast<std::ptrdiff_t>(at);
      sum += std::set<int>(begin, begin + window).size();
    }
    return static_cast<double>(sum) / static_cast<double>(windows);
  }
  [[nodiscard]] bool all_were_in(int often) const {
    return std::all_of(times.begin(), times.end(), [often](int n) { return n >= often; });
  }
};

constexpr int threads = 32;

/// Sleep stands for work, as if each thread had a processor. A thread is outside for about four
/// times as long as inside, so five of them saturate the lock. Ends when every thread was inside
/// twice.
template <class L>
history circulate() {
  constexpr std::size_t least = 20 * history::window;
  history seen;
  seen.times.resize(threads);
  L lock;
  std::atomic<bool> enough{false};
  in_parallel(threads, [&](int i) {
    while (!enough.load()) {
      lock.lock();
      seen.admissions.push_back(i);
      ++seen.times[static_cast<std::size_t>(i)];
      if (seen.admissions.size() >= least && seen.all_were_in(2)) {
        enough = true;
      }
      std::this_thread::sleep_for(300us);
      lock.unlock();
      std::this_thread::sleep_for(1500us);
    }
  });
  return seen;
}

template <class Row>
class Restriction : public ::testing::Test {
 protected:
  using lock_type = typename Row::template lock<impatient>;

  void SetUp() override {
    declared_nodes = 1;
    nodes_out = 0;
  }
  void TearDown() override { EXPECT_EQ(nodes_out.load(), 0) << "queue nodes were lost"; }
};

/// To be extended by every algorithm that restricts.
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

TYPED_TEST(Restriction, few_threads_circulate_and_everybody_gets_in) {
  for (const std::uint64_t spinning : {std::uint64_t{1'000'000'000'000}, std::uint64_t{10'000}}) {
    bound = spinning;
    EXPECT_LT(circulate<typename TestFixture::lock_type>().working_set(), threads / 2.0);
  }
}

// The same measure sees a lock that lets all threads circulate.
TEST(TheMeasure, sees_that_all_threads_circulate) {
  bound = 1'000'000'000'000;
  EXPECT_GT(circulate<lockwright::mcs_stp_lock<impatient>>().working_set(), threads / 2.0);
}

}  // namespace
