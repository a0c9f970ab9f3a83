#include "report.hpp"

#include <algorithm>

#include "../meter/fairness.hpp"

namespace bench {
namespace {

// Sleeping is not exact: the last part of a wait polls the clock.
constexpr double awake_ns = 100'000;

void print_latency(const char* workload, const char* what, const histogram& ticks,
                   double ns_per_tick) {
  if (ticks.count() == 0) {
    return;
  }
  const auto ns = [&](double share) { return static_cast<double>(ticks.at(share)) * ns_per_tick; };
  result(workload, "latency")
      .field("what", std::string_view(what))
      .field("count", ticks.count())
      .field("mean_ns", ticks.mean() * ns_per_tick)
      .field("p50_ns", ns(0.5))
      .field("p90_ns", ns(0.9))
      .field("p99_ns", ns(0.99))
      .field("p99.9_ns", ns(0.999))
      .field("p99.99_ns", ns(0.9999))
      .field("max_ns", static_cast<double>(ticks.max()) * ns_per_tick)
      .print();
}

}  // namespace

void add_totals(result& line, const totals& done, const settings& given) {
  const auto& each = done.per_thread;
  line.field("threads", given.threads())
      .field("seconds", done.seconds)
      .field("operations", done.operations)
      .field("operations_per_second", static_cast<double>(done.operations) / done.seconds)
      .field("acquisitions", done.acquisitions)
      .field("per_thread", each)
      .field("gini", gini(each))
      .field("relative_deviation", relative_deviation(each))
      .field("loops_per_us", given.loops_per_us());
}

void print_latencies(const char* workload, const latencies& times, double ns_per_tick) {
  print_latency(workload, "acquisition", times.acquisition, ns_per_tick);
  print_latency(workload, "hold", times.hold, ns_per_tick);
  print_latency(workload, "handover", times.handover, ns_per_tick);
  print_latency(workload, "operation", times.operation, ns_per_tick);
}

void print_admissions(const char* workload, const std::vector<const admission_record*>& records,
                      std::uint64_t admissions, std::uint64_t window) {
  admission_history history(admissions, window);
  for (const admission_record* one : records) {
    history.add(*one);
  }
  result line(workload, "admissions");
  line.field("admissions", admissions).field("window", window).field("windows", history.windows());
  if (const auto lwss = history.average_lwss()) {
    line.field("average_lwss", *lwss);
  }
  if (const auto mttr = history.mttr()) {
    line.field("mttr", *mttr);
  }
  line.print();
}

void print_final(const char* workload, const totals& all, std::uint64_t taken,
                 const std::string& wrong) {
  result(workload, "final")
      .field("operations", all.operations)
      .field("acquisitions", all.acquisitions)
      .field("guarded", taken)
      .field("per_thread", all.per_thread)
      .print();
  if (!wrong.empty()) {
    fail(wrong);
  }
}

timetable::timetable(double per_second) : every_ns_{per_second > 0 ? 1e9 / per_second : 0} {
  if (every_ns_ > 0) {
    const std::uint64_t ns = now_ns();
    const std::uint64_t from = ticks();
    sleep_ns(2'000'000);
    const std::uint64_t took = ticks() - from;
    ticks_per_ns_ = static_cast<double>(took) / static_cast<double>(now_ns() - ns);
  }
}

void timetable::begin() { next_ns_ = static_cast<double>(now_ns()); }

std::uint64_t timetable::await_next() {
  next_ns_ += every_ns_;
  double left = next_ns_ - static_cast<double>(now_ns());
  if (left > awake_ns) {
    sleep_ns(static_cast<std::uint64_t>(left - awake_ns));
  }
  while ((left = next_ns_ - static_cast<double>(now_ns())) > 0) {
  }
  // The same moment on the other clock: now minus the lateness.
  return ticks() - static_cast<std::uint64_t>(-left * ticks_per_ns_);
}

}  // namespace bench
