// Runs a workload: starts, measures and ends its threads, and prints the results.
//
// A workload is a class of the state that its threads share, with
//   W(const settings&)                          before any thread
//   struct alignas(cache_line_pair) thread_state  the state of one thread
//   thread_state(W&, const settings&, index)      called in that thread
//   std::uint64_t step(thread_state&, mutex_meter&)  returns the number of operations done
//   std::uint64_t taken() const                   sum of its mutexes' counters, when all have ended
// and, if it needs them,
//   std::uint64_t helpers() const                 threads in addition to --threads, with the last
//                                                 indices, whose operations are not counted
//   void release_waiters()                        wakes threads that wait for others, at the end
//   void report(result&, const totals&) const     adds fields of its own
//   std::string find_fault(const totals&) const   the fault in the result; "" if none
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../bench.hpp"
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
      : workload_{workload}, given_{given}, members_(given.threads() + helpers()) {
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
    start_.open();
    sleep_ns(static_cast<std::uint64_t>(given_.real("warm-up") * 1e9));
    const usage used_before = usage_so_far();
    const snapshot before = look();
    phase_.store(phase::measured, std::memory_order_relaxed);
    sleep_ns(static_cast<std::uint64_t>(given_.real("seconds") * 1e9));
    // Counted before the threads are stopped: where every handover waits for a time slice,
    // the last round alone can take longer than the measurement.
    const snapshot after = look();
    const usage used_after = usage_so_far();
    phase_.store(phase::over, std::memory_order_relaxed);

    const totals done = difference(before, after);
    result measured(about.name, "measured");
    measured.field("began_ns", before.at);
    add_totals(measured, done, given_);
    add_usage(measured, used_before, used_after);
    // The processor time less the busy work of sections and gaps.
    if (done.work_loops != 0) {
      measured.field("synchronisation_seconds",
                     used_after.processor_seconds() - used_before.processor_seconds() -
                         static_cast<double>(done.work_loops) / given_.loops_per_us() / 1e6);
    }
    if constexpr (requires { workload_.report(measured, done); }) {
      workload_.report(measured, done);
    }
    if (about.lock_header != nullptr) {
      measured.field("mutex", std::string_view(about.lock_header));
    } else {
      add_origin(measured);
    }
    measured.print();
    end(about, static_cast<double>(after.at - before.at) /
                   static_cast<double>(after.ticks - before.ticks));
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
  }

  snapshot look() const {
    snapshot seen{now_ns(), ticks(), 0, 0, {}};
    for (std::size_t i = 0; i < members_.size(); ++i) {
      seen.acquisitions += tallies_[i].acquisitions.load(std::memory_order_relaxed);
      seen.work_loops += tallies_[i].work_loops.load(std::memory_order_relaxed);
      if (i < given_.threads()) {
        seen.operations.push_back(tallies_[i].operations.load(std::memory_order_relaxed));
      }
    }
    return seen;
  }

  static totals difference(const snapshot& before, const snapshot& after) {
    totals done;
    done.seconds = static_cast<double>(after.at - before.at) / 1e9;
    done.acquisitions = after.acquisitions - before.acquisitions;
    done.work_loops = after.work_loops - before.work_loops;
    for (std::size_t i = 0; i < after.operations.size(); ++i) {
      done.per_thread.push_back(after.operations[i] - before.operations[i]);
      done.operations += done.per_thread.back();
    }
    return done;
  }

  void end(const description& about, double ns_per_tick) {
    if constexpr (requires { workload_.release_waiters(); }) {
      workload_.release_waiters();
    }
    totals all;
    std::uint64_t guarded = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      must(pthread_join(members_[i].thread, nullptr), "pthread_join");
      const mutex_meter<Meters>& meter = *members_[i].meter;
      all.acquisitions += meter.acquisitions();
      guarded += meter.acquisitions() - meter.unguarded();
      if (i < given_.threads()) {
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
    if constexpr (requires { workload_.find_fault(all); }) {
      if (wrong.empty()) {
        wrong = workload_.find_fault(all);
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
