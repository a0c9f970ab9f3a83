// lockwright-torture: stress tests of mutexes and condition variables, modelled on the Linux
// kernel's locktorture. The program tests the library that is preloaded; `lockwright torture`
// preloads one lock after the other.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "clock.hpp"
#include "disturbance.hpp"
#include "footprint.hpp"
#include "main_watch.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "plan.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "stacks.hpp"
#include "stopper.hpp"

namespace torture {
namespace {

constexpr struct {
  const char* kind;
  void (*set_up)(phase_run&);
} phases[] = {{"crowd", crowd},         {"churn", churn},    {"rings", rings}, {"herd", herd},
              {"producers", producers}, {"forks", forks},    {"order", order}, {"reuse", reuse},
              {"memory", memory},       {"readers", readers}};

void set_up(phase_run& on) {
  for (const auto& each : phases) {
    if (on.plan.kind == each.kind) {
      each.set_up(on);
    }
  }
}

// The file that defines a function: it shows that the library is loaded.
std::string origin_of(const char* call) {
  Dl_info info;
  void* const address = dlsym(RTLD_DEFAULT, call);
  return address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "unknown";
}

// Seconds of one phase, so that the run makes several passes over all kinds.
double seconds_each(const settings& given, const plan& drawn) {
  return std::clamp(given.seconds / (2.0 * static_cast<double>(drawn.kinds())), 0.2, 2.0);
}

// Fails the run if memory grows after the first phases, in which caches (threads' stacks, queue
// nodes) fill.
class memory_limit {
 public:
  explicit memory_limit(std::uint64_t first) : first_{first} {}
  void check(std::uint64_t number) {
    const footprint taken = measure_footprint();
    if (number < first_) {
      after_warm_up_ = taken;
    } else if (taken.bytes > after_warm_up_.bytes + max_growth_bytes ||
               taken.mappings > after_warm_up_.mappings + max_growth_mappings) {
      fail("memory", "the process has grown from " + std::to_string(after_warm_up_.bytes >> 10) +
                         " to " + std::to_string(taken.bytes >> 10) + " KiB, and from " +
                         std::to_string(after_warm_up_.mappings) + " to " +
                         std::to_string(taken.mappings) + " mappings");
    }
  }

 private:
  static constexpr std::uint64_t max_growth_bytes = 256 << 20;
  static constexpr std::uint64_t max_growth_mappings = 8'000;
  const std::uint64_t first_;
  footprint after_warm_up_;
};

int run(const settings& given) {
  const plan drawn(given);
  prepare_disturbances();
  prepare_stacks();
  catch_crashes(is_retired);
  stopper stops(given.seed);
  watch_main_thread(given.patience);
  line("start")
      .field("seed", given.seed)
      .field("processors", processors())
      .field("mutex", origin_of("pthread_mutex_lock"))
      .field("cond", origin_of("pthread_cond_wait"))
      .field("rwlock", origin_of("pthread_rwlock_wrlock"))
      .print();

  const std::uint64_t began = now();
  const auto length = static_cast<std::uint64_t>(given.seconds * 1e9);
  const double each = seconds_each(given, drawn);
  memory_limit memory_taken(2 * drawn.kinds());
  std::uint64_t sections = 0;
  std::uint64_t number = 0;
  std::uint64_t threads = 0;
  for (; now() - began < length; ++number) {
    const phase current =
        drawn.at(given.phase < 0 ? number : static_cast<std::uint64_t>(given.phase));
    line("phase").field("number", current.number).field("what", current.description()).print();
    main_thread("sets up the phase");
    phase_run on(given, current);
    announce(&given, &current, &on);
    set_up(on);
    const double left = static_cast<double>(length - (now() - began)) / 1e9;
    on.run(std::clamp(left, 0.05, each), stops);
    sections += on.sections();
    threads = std::max<std::uint64_t>(threads, on.workers().size());
    announce(&given, &current, nullptr);
    memory_taken.check(number);
  }
  line("final")
      .field("phases", number)
      .field("sections", sections)
      .field("most_threads", threads)
      .field("signals", signals_handled())
      .field("stops", stops.stops())
      .field("seconds", static_cast<double>(now() - began) / 1e9)
      .print();
  return 0;
}

}  // namespace
}  // namespace torture

int main(int argc, char** argv) {
  const torture::settings given = torture::read_settings(argc, argv);
  if (given.parent != 0 && !torture::end_with(given.parent)) {
    return EXIT_FAILURE;
  }
  // Read before any thread is pinned.
  torture::processors();
  return torture::run(given);
}
