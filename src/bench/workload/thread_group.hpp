// Runs a workload: starts, measures and ends its threads, and prints the results.
//
// A workload is a class as src/workload/description.hpp says; taken() is the sum of its mutexes'
// counters. Further members that it may have:
//   std::uint64_t threads() const      instead of those of --threads
//   void prepare()                     called when all threads wait for the start
//   void starts(std::uint64_t at)      likewise; the measurement begins at this now_ns()
//   std::uint64_t sample_ns() const    how often the threads' operations are read; 0: at both ends only
//   static constexpr patience_ns       if its threads have not ended so long after they were stopped,
//                                      they are left to the end of the process: a strict queue of
//                                      spinning threads takes longer to empty
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../meter/admission.hpp"
#include "../meter/fairness.hpp"
#include "../meter/mutex_meter.hpp"
#include "../meter/usage.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace bench {

// What a thread has done so far, for the main thread to read while it runs.
struct alignas(cache_line_pair) published {
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> acquisitions{0};
  std::atomic<std::uint64_t> work_loops{0};
};
static_assert(sizeof(published) == cache_line_pair);

enum class phase : std::uint32_t { warm_up, measured, over };

template <class Workload, unsigned Meters>
class thread_group {
  static_assert(alignof(typename Workload::thread_state) >= cache_line_pair,
                "a thread's own state would share a line with another's");
  static_assert(alignof(mutex_meter<Meters>) >= cache_line_pair);

 public:
  thread_group(Workload& workload, const settings& given)
      : workload_{workload}, given_{given}, members_(threads() + helpers()) {
    tallies_.reset(new published[members_.size()]);
    // More than a step needs, and little enough that a thousand threads fit into a container.
    constexpr std::size_t stack_bytes = 524288;
    pthread_attr_t small;
    must(pthread_attr_init(&small), "pthread_attr_init");
    must(pthread_attr_setstacksize(&small, stack_bytes), "pthread_attr_setstacksize");
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].all = this;
      members_[i].index = i;
      must(pthread_create(&members_[i].thread, &small, run, &members_[i]), "pthread_create");
    }
    start_.await(static_cast<std::uint32_t>(members_.size()));
  }

  int measure(const description& about) {
    if constexpr (requires { workload_.prepare(); }) {
      workload_.prepare();
    }
    const std::uint64_t begins = now_ns() + nanoseconds("warm-up");
    if constexpr (requires { workload_.starts(begins); }) {
      workload_.starts(begins);
    }
    start_.open();
    sleep_until(begins);
    const usage used_before = usage_so_far();
    const snapshot before = look();
    phase_.store(phase::measured, std::memory_order_relaxed);
    run_record record;
    record.samples = samples_from(before);
    // Counted before the threads are stopped: where every handover waits for a time slice,
    // the last round alone can take longer than the measurement.
    const snapshot after = look();
    const usage used_after = usage_so_far();
    for (const member& one : members_) {
      record.longest_wait = std::max(record.longest_wait, one.meter->waits().so_far());
    }
    phase_.store(phase::over, std::memory_order_relaxed);

    record.samples.push_back({after.at, after.operations});
    record.ns_per_tick =
        static_cast<double>(after.at - before.at) / static_cast<double>(after.ticks - before.ticks);
    add_difference(record, before, after);
    result measured(about.name, "measured");
    measured.field("began_ns", before.at);
    add_totals(measured, record, given_);
    add_usage(measured, used_before, used_after);
    // The processor time less the busy work of sections and gaps.
    if (record.work_loops != 0) {
      measured.field("synchronisation_seconds",
                     used_after.processor_seconds() - used_before.processor_seconds() -
                         static_cast<double>(record.work_loops) / given_.loops_per_us() / 1e6);
    }
    if constexpr ((Meters & meter_waits) != 0) {
      measured.field("longest_wait_ns",
                     static_cast<double>(record.longest_wait) * record.ns_per_tick);
    }
    if constexpr (requires { workload_.report(measured, record); }) {
      workload_.report(measured, record);
    }
    if (about.lock_header != nullptr) {
      measured.field("mutex", std::string_view(about.lock_header));
    } else {
      add_origin(measured);
    }
    measured.print();
    end(about, record.ns_per_tick);
    return 0;
  }

 private:
  struct member {
    thread_group* all = nullptr;
    std::size_t index = 0;
    pthread_t thread{};
    std::unique_ptr<mutex_meter<Meters>> meter;
  };

  struct snapshot {
    std::uint64_t at;
    std::uint64_t ticks;
    std::uint64_t acquisitions;
    std::uint64_t work_loops;
    std::vector<std::uint64_t> operations;
  };

  [[nodiscard]] std::uint64_t nanoseconds(const char* name) const {
    return static_cast<std::uint64_t>(given_.real(name) * 1e9);
  }

  [[nodiscard]] std::uint64_t threads() const {
    if constexpr (requires { workload_.threads(); }) {
      return workload_.threads();
    } else {
      return given_.threads();
    }
  }

  [[nodiscard]] std::uint64_t helpers() const {
    if constexpr (requires { workload_.helpers(); }) {
      return workload_.helpers();
    } else {
      return 0;
    }
  }

  static void* run(void* at) {
    member& me = *static_cast<member*>(at);
    me.all->work(me);
    return nullptr;
  }

  void work(member& me) {
    given_.pin(me.index);
    // Constructed by the thread itself, so that its memory is on the thread's node.
    typename Workload::thread_state thread_state(workload_, given_, me.index);
    me.meter = std::make_unique<mutex_meter<Meters>>(given_.count("window", 1));
    mutex_meter<Meters>& meter = *me.meter;
    published& tally = tallies_[me.index];
    timetable due(given_.real("rate"));
    std::uint64_t operations = 0;
    start_.pass();
    due.begin();
    for (;;) {
      const std::uint64_t when = due.await();
      const phase now = phase_.load(std::memory_order_relaxed);
      if (now == phase::over) {
        break;
      }
      meter.step_begins(now == phase::measured, when);
      operations += workload_.step(thread_state, meter);
      meter.step_ended();
      tally.operations.store(operations, std::memory_order_release);
      tally.acquisitions.store(meter.acquisitions(), std::memory_order_relaxed);
      tally.work_loops.store(meter.work_loops(), std::memory_order_relaxed);
    }
    ended_.fetch_add(1);
  }

  // Sleeps until the measurement ends.
  std::vector<sample> samples_from(const snapshot& before) const {
    std::vector<sample> samples{{before.at, before.operations}};
    const std::uint64_t ends = before.at + nanoseconds("seconds");
    if constexpr (requires { workload_.sample_ns(); }) {
      const std::uint64_t step = workload_.sample_ns();
      for (std::uint64_t at = before.at + step; step != 0 && at < ends; at += step) {
        sleep_until(at);
        const snapshot now = look();
        samples.push_back({now.at, now.operations});
      }
    }
    sleep_until(ends);
    return samples;
  }

  snapshot look() const {
    snapshot seen{now_ns(), ticks(), 0, 0, {}};
    for (std::size_t i = 0; i < members_.size(); ++i) {
      seen.acquisitions += tallies_[i].acquisitions.load(std::memory_order_relaxed);
      seen.work_loops += tallies_[i].work_loops.load(std::memory_order_relaxed);
      if (i < threads()) {
        seen.operations.push_back(tallies_[i].operations.load(std::memory_order_relaxed));
      }
    }
    return seen;
  }

  static void add_difference(totals& done, const snapshot& before, const snapshot& after) {
    done.seconds = static_cast<double>(after.at - before.at) / 1e9;
    done.acquisitions = after.acquisitions - before.acquisitions;
    done.work_loops = after.work_loops - before.work_loops;
    for (std::size_t i = 0; i < after.operations.size(); ++i) {
      done.per_thread.push_back(after.operations[i] - before.operations[i]);
      done.operations += done.per_thread.back();
    }
  }

  // Returns when all threads have ended, or ends the process.
  void await_threads(const description& about) const {
    if constexpr (requires { Workload::patience_ns; }) {
      const std::uint64_t deadline = now_ns() + Workload::patience_ns;
      while (ended_.load() != members_.size()) {
        if (now_ns() > deadline) {
          result(about.name, "final")
              .field("ended", static_cast<std::uint64_t>(ended_.load()))
              .print();
          // Not exit: threads may still be inside the lock under test.
          std::_Exit(0);
        }
        sleep_ns(1'000'000);
      }
    }
    for (const member& one : members_) {
      must(pthread_join(one.thread, nullptr), "pthread_join");
    }
  }

  void end(const description& about, double ns_per_tick) {
    if constexpr (requires { workload_.release_waiters(); }) {
      workload_.release_waiters();
    }
    await_threads(about);
    totals all;
    std::uint64_t guarded = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const mutex_meter<Meters>& meter = *members_[i].meter;
      all.acquisitions += meter.acquisitions();
      guarded += meter.acquisitions() - meter.unguarded();
      if (i < threads()) {
        all.per_thread.push_back(tallies_[i].operations.load(std::memory_order_relaxed));
        all.operations += all.per_thread.back();
      }
    }
    if constexpr ((Meters & meter_latency) != 0) {
      latencies times;
      for (const member& one : members_) {
        times.acquisition.add(one.meter->times().acquisition);
        times.hold.add(one.meter->times().hold);
        times.handover.add(one.meter->times().handover);
        times.operation.add(one.meter->times().operation);
      }
      print_latencies(about.name, times, ns_per_tick);
    }
    if constexpr ((Meters & meter_admissions) != 0) {
      std::vector<const admission_record*> records;
      for (const member& one : members_) {
        records.push_back(&one.meter->order());
      }
      print_admissions(about.name, records, workload_.recorded(), given_.count("window", 1));
    }
    std::string wrong;
    if (workload_.taken() != guarded) {
      wrong = "two threads were inside a section at once";
    }
    if constexpr (requires { workload_.find_fault(all.operations); }) {
      if (wrong.empty()) {
        wrong = workload_.find_fault(all.operations);
      }
    }
    print_final(about.name, all, workload_.taken(), wrong);
  }

  Workload& workload_;
  const settings& given_;
  gate start_;
  // Read by all in every step, written twice.
  alignas(cache_line_pair) std::atomic<phase> phase_{phase::warm_up};
  alignas(cache_line_pair) std::vector<member> members_;
  std::unique_ptr<published[]> tallies_;
  alignas(cache_line_pair) std::atomic<std::uint32_t> ended_{0};
};

template <class Workload, unsigned Meters>
int run_thread_group(const description& about, const settings& given) {
  // Static: threads may still use both when the program ends after a failure.
  static Workload workload(given);
  static thread_group<Workload, Meters> threads(workload, given);
  return threads.measure(about);
}

// The `run` function of a workload's description.
template <class Workload>
int run_workload(const description& about, const settings& given) {
  if constexpr (requires(const Workload& w) { w.recorded(); }) {
    if (given.is("admissions")) {
      return given.is("latency")
                 ? run_thread_group<Workload, meter_latency | meter_admissions>(about, given)
                 : run_thread_group<Workload, meter_admissions>(about, given);
    }
  }
  return given.is("latency") ? run_thread_group<Workload, meter_latency>(about, given)
                             : run_thread_group<Workload, meters_off>(about, given);
}

}  // namespace bench
