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

// The same measure sees a lock whose waiters do not park, however busy the machine is.
TEST(TheMeasures, see_that_a_spinning_waiter_burns) {
  hold_while_others_wait<lockwright::mcs_spin_lock<lockwright::native>>([](const auto& clocks) {
    for (const processor_clock& waiter : clocks) {
      while (waiter.used() < burnt) {
        std::this_thread::sleep_for(1ms);
      }
    }
  });
}

// Twelve threads of which the last comes first, or on three nodes that take turns by node.
TEST(TheMeasures, see_another_order_than_that_of_arrival) {
  const auto never = std::uint64_t{1'000'000'000'000};
  std::vector<int> order = order_of_admission<lockwright::lifo_cr_lock<observed>>(never, 1);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  order = order_of_admission<lockwright::hmcs_lock<observed>>(never, 3);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(TheMeasures, see_a_long_path) {
  EXPECT_FALSE(measure_path<lockwright::hmcs_lock<counted>>().is_short());
  EXPECT_FALSE(measure_path<lockwright::mcs_spin_lock<counted>>().is_short());
  EXPECT_TRUE(measure_path<lockwright::ticket_lock<counted>>().is_short());
  EXPECT_EQ(measure_path<lockwright::futex_lock<counted>>().updates_in_lock, 1u);
  EXPECT_EQ(measure_path<lockwright::futex_lock<counted>>().updates_in_unlock, 1u);
}

}  // namespace
