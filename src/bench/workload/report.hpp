// The printed results of a run, and the timetable of its operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../calibrate/support.hpp"
#include "../meter/admission.hpp"
#include "../meter/mutex_meter.hpp"
#include "settings.hpp"

namespace bench {

// What the threads did, the helpers' operations left out.
struct totals {
  double seconds = 0;
  std::uint64_t operations = 0;
  std::uint64_t acquisitions = 0;
  std::uint64_t work_loops = 0;
  std::vector<std::uint64_t> per_thread;
};

// The threads' operations so far, at a time in nanoseconds.
struct sample {
  std::uint64_t at;
  std::vector<std::uint64_t> operations;
};

// What a workload's own fields are made from.
struct run_record : totals {
  double ns_per_tick = 0;
  std::uint64_t longest_wait = 0;  // in ticks; 0 without that meter
  // The first from the begin of the measurement, the last from its end.
  std::vector<sample> samples;
};

void add_totals(result& line, const totals& done, const settings& given);
void print_latencies(const char* workload, const latencies& times, double ns_per_tick);
void print_admissions(const char* workload, const std::vector<const admission_record*>& records,
                      std::uint64_t admissions, std::uint64_t window);
// Ends the program with status 1 if something is wrong.
void print_final(const char* workload, const totals& all, std::uint64_t taken,
                 const std::string& wrong);

// The times at which a thread's operations are due. A late one does not move those after it: their
// latency includes the wait for it (no coordinated omission).
class timetable {
 public:
  // per_second: 0 for no timetable.
  explicit timetable(double per_second);
  void begin();
  // Returns when the next operation is due, in ticks(), and not before; 0 without a timetable.
  std::uint64_t await() { return every_ns_ == 0 ? 0 : await_next(); }

 private:
  std::uint64_t await_next();
  double every_ns_;
  double next_ns_ = 0;
  double ticks_per_ns_ = 1;
};

}  // namespace bench
