// The description of a workload: its source, its parameters and its figures. The command lines, their
// help, `lockwright bench --list`, `lockwright simulate --list` and the tests are made from it.
//
// A workload is a template over its environment, so that one source runs on POSIX calls, on the locks'
// headers and on the simulated machine:
//
//   settings        real(), count(), is(), threads(); length(what) and cycles(name): work for a meter
//   mutex, monitor  made from settings; lock() and unlock() for threads without a meter. A condition
//                   variable waits with a monitor only.
//   mutexes         several, made from settings and their number
//   condition       signal(), broadcast()
//   word            an atomic number of 32 bits to wait at: Env::wait(word, seen), Env::wake(word, n)
//   random          of a thread, from settings.random(index)
//
// The class of a workload is the state that its threads share, with
//   W(const settings&)                      before any thread
//   struct thread_state                     the state of one thread, made from (W&, settings, index)
//   std::uint64_t step(thread_state&, Meter&)    returns the number of operations done
// and, if it needs them,
//   std::uint64_t helpers() const           threads in addition to --threads, with the last indices,
//                                           whose operations are not counted
//   void release_waiters()                  wakes threads that wait for others, at the end
//   void report(line&, const run_record&)   adds fields of its own to the line of a native run
//   std::string find_fault(std::uint64_t operations) const   the fault in the result; "" if none.
//                                           operations: of the threads, in all
#pragma once

#include <cstdint>
#include <vector>

#include "../programs/settings.hpp"

namespace bench {
class settings;
}

namespace lockwright::workloads {

using programs::parameter;
using programs::preset;

inline constexpr std::size_t cache_line_pair = 128;

// A field of the line that a run prints. Locks are compared by operations per second, which every
// workload with a lock has; workloads without a lock, by their first figure.
struct figure {
  const char* field;
  const char* heading;
  const char* meaning;
  bool lower_is_better = false;
};

struct description {
  const char* name;
  const char* measures;        // one sentence
  const char* source = "";     // paper and figure
  const char* operation = "";  // one operation, named in the plural
  std::uint64_t threads = 2;
  std::vector<parameter> parameters = {};
  // Common parameters with another initial value.
  std::vector<parameter> in_native_runs = {};
  std::vector<preset> presets = {};
  std::vector<figure> figures = {};  // in addition to those that every workload has
  // Threads contend for one mutex, so that their order of admission can be recorded.
  bool one_mutex = false;
  // False for a workload without a lock: no preload library changes its figures.
  bool uses_lock = true;
  // Its lock is a reader-writer lock.
  bool of_rwlocks = false;
  // False for the workload of a command of its own.
  bool is_listed = true;
  int (*run)(const description&, const bench::settings&) = nullptr;
  // The header of the lock that is called directly; null for the pthread functions.
  const char* lock_header = nullptr;
};

// A workload with one mutex for all its threads.
template <class Mutex>
struct with_one {
  template <class Settings>
  explicit with_one(const Settings& given) : shared{given} {}

  Mutex shared;
  [[nodiscard]] std::uint64_t taken() const { return shared.taken; }
  [[nodiscard]] std::uint64_t recorded() const { return shared.recorded; }
};

}  // namespace lockwright::workloads
