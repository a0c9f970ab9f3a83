// The threads that run a workload: their counts, the due times of steps, and the check of exclusion.
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "workload/native.hpp"
#include "workload/thread_group.hpp"

namespace {

bench::settings settings_of(const bench::description& about, std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size());
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  return {about, static_cast<int>(arguments.size()), arguments.data()};
}

template <class Workload>
std::string output_of(std::vector<std::string> words) {
  const bench::description about{.name = "test",
                                 .measures = "",
                                 .source = "",
                                 .operation = "",
                                 .threads = 1,
                                 .one_mutex = true,
                                 .run = bench::run_workload<Workload>};
  const bench::settings given = settings_of(about, std::move(words));
  testing::internal::CaptureStdout();
  about.run(about, given);
  return testing::internal::GetCapturedStdout();
}

// Returns the number after `"name":` in the first line of that kind.
double number(const std::string& printed, const std::string& kind, const std::string& name) {
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t position = line.find("\"" + name + "\":");
    if (line.find("\"kind\":\"" + kind + "\"") != std::string::npos &&
        position != std::string::npos) {
      return std::stod(line.substr(position + name.size() + 3));
    }
  }
  ADD_FAILURE() << "no " << name << " in a line " << kind << " of " << printed;
  return -1;
}

constexpr double rate = 100;
constexpr std::uint64_t stall_ns = 200'000'000;

// A workload with one slow step, during the measurement.
struct one_stall : bench::with_one_mutex {
  using bench::with_one_mutex::with_one;
  struct alignas(bench::cache_line_pair) thread_state {
    thread_state(one_stall& /*workload*/, const bench::settings& /*given*/, std::size_t /*index*/) {
    }
    int steps = 0;
  };
  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    if (++me.steps == 5) {
      bench::sleep_ns(stall_ns);
    }
    meter.unlock(shared);
    return 1;
  }
};

// A thread that begins a step every 10 ms and is delayed for 200 ms is late with twenty steps. A meter
// that measured from the begin of each step would find one late step.
TEST(ThreadGroup, AStallIsCountedForEveryStepDueMeanwhile) {
  const std::string printed = output_of<one_stall>(
      {"--seconds", "0.5", "--warm-up", "0", "--latency", "1", "--rate", std::to_string(rate)});
  EXPECT_GE(number(printed, "latency", "max_ns"), 0.9 * stall_ns);
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"what\":\"operation\"") != std::string::npos) {
      // Ten of some fifty steps are late by half of the stall and more.
      EXPECT_GE(number(line, "latency", "p90_ns"), 0.5 * stall_ns);
    }
    if (line.find("\"what\":\"hold\"") != std::string::npos) {
      EXPECT_LT(number(line, "latency", "p90_ns"), 0.5 * stall_ns);
    }
  }
}

struct no_exclusion : bench::with_one_mutex {
  using bench::with_one_mutex::with_one;
  struct alignas(bench::cache_line_pair) thread_state {
    thread_state(no_exclusion& /*workload*/, const bench::settings& /*given*/,
                 std::size_t /*index*/) {}
  };
  template <class Meter>
  std::uint64_t step(thread_state& /*me*/, Meter& meter) {
    meter.lock(shared);
    // As if another thread had overwritten the counter with an older value.
    --shared.taken;
    meter.unlock(shared);
    return 1;
  }
};

TEST(ThreadGroup, LostExclusionEndsTheProgram) {
  EXPECT_EXIT(output_of<no_exclusion>({"--seconds", "0.3", "--warm-up", "0"}),
              testing::ExitedWithCode(1), "two threads were inside a section at once");
}

// A workload with two helper threads, whose operations do not count.
struct with_helpers : bench::with_one_mutex {
  using bench::with_one_mutex::with_one;
  static std::uint64_t helpers() { return 2; }
  struct alignas(bench::cache_line_pair) thread_state {
    thread_state(with_helpers& /*workload*/, const bench::settings& given, std::size_t number)
        : counts{number < given.threads()} {}
    bool counts;
  };
  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    meter.unlock(shared);
    return me.counts ? 3 : 1000;
  }
};

TEST(ThreadGroup, CountsTheThreadsOperationsAndEveryAcquisition) {
  const std::string printed =
      output_of<with_helpers>({"--seconds", "0.3", "--warm-up", "0", "--threads", "3"});
  const double operations = number(printed, "final", "operations");
  EXPECT_GT(operations, 0);
  EXPECT_EQ(operations, 3 * std::floor(operations / 3));
  EXPECT_GE(number(printed, "final", "acquisitions"), operations / 3);
  EXPECT_EQ(number(printed, "final", "acquisitions"), number(printed, "final", "guarded"));
  EXPECT_EQ(number(printed, "measured", "threads"), 3);
}

TEST(ThreadGroup, DataOfOneThreadIsNotOnACacheLineOfOthers) {
  EXPECT_EQ(alignof(bench::published), bench::cache_line_pair);
  EXPECT_EQ(sizeof(bench::published) % bench::cache_line_pair, 0U);
  EXPECT_EQ(alignof(bench::mutex_meter<bench::meters_off>), bench::cache_line_pair);
  const std::array<bench::guarded_mutex, 2> mutexes;
  const auto address = [](const void* object) { return reinterpret_cast<std::uintptr_t>(object); };
  EXPECT_GE(address(&mutexes[0].taken) - address(&mutexes[0].mutex), bench::cache_line_pair);
  EXPECT_GE(address(&mutexes[1].mutex) - address(&mutexes[0].left_at), bench::cache_line_pair / 2);
  EXPECT_EQ(address(&mutexes[1].mutex) % bench::cache_line_pair, 0U);
}

}  // namespace
