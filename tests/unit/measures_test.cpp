// The measures of measures.hpp detect wrong traits.
#include "measures.hpp"

#include "lockwright/row/futex.hpp"
#include "lockwright/row/hmcs.hpp"
#include "lockwright/row/lifo_cr.hpp"
#include "lockwright/row/mcs_spin.hpp"
#include "lockwright/row/ticket.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

// Detects waiters that do not park, on a machine under any load.
TEST(Measures, detect_a_spinning_waiter) {
  hold_while_others_wait<lockwright::mcs_spin_lock<lockwright::native>>([](const auto& clocks) {
    for (const processor_clock& waiter : clocks) {
      wait_until([&] { return waiter.used() >= spinning_time; });
    }
  });
}

// Twelve threads, admitted last come, first served, or on three nodes grouped by node.
TEST(Measures, detect_another_order_than_that_of_arrival) {
  const auto for_ever = std::uint64_t{1'000'000'000'000};
  std::vector<std::uint32_t> order =
      order_of_admission<lockwright::lifo_cr_lock<observed>>(for_ever, 1);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  order = order_of_admission<lockwright::hmcs_lock<observed>>(for_ever, 3);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(Measures, detect_a_long_path) {
  EXPECT_FALSE(measure_path<lockwright::hmcs_lock<watched>>().is_short());
  EXPECT_FALSE(measure_path<lockwright::mcs_spin_lock<watched>>().is_short());
  EXPECT_TRUE(measure_path<lockwright::ticket_lock<watched>>().is_short());
  EXPECT_EQ(measure_path<lockwright::futex_lock<watched>>().updates_in_lock, 1u);
  EXPECT_EQ(measure_path<lockwright::futex_lock<watched>>().updates_in_unlock, 1u);
}

}  // namespace
