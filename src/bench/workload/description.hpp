// The description of a workload: its source, its parameters and its figures. The
// command line, its help, `lockwright bench --list` and the tests are made from it.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

class settings;

struct parameter {
  const char* name;
  double initial;
  const char* unit;  // "" for a plain number
  const char* meaning;
  double least = 0;
  // If the value is one of a few words: the words, separated by commas; the value is the index.
  const char* words = nullptr;
};

// Values that belong together, as "name=value name=value".
struct preset {
  const char* name;
  const char* values;
  const char* meaning;
};

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
  const char* measures;   // one sentence
  const char* source;     // paper and figure
  const char* operation;  // one operation, named in the plural
  std::uint64_t threads;
  std::vector<parameter> parameters = {};
  std::vector<preset> presets = {};
  std::vector<figure> figures = {};  // in addition to those that every workload has
  // Threads contend for one mutex, so that their order of admission can be recorded.
  bool one_mutex = false;
  // False for a workload without a lock: no preload library changes its figures.
  bool uses_lock = true;
  int (*run)(const description&, const settings&) = nullptr;
  // The header of the lock that is called directly; null for the pthread functions.
  const char* lock_header = nullptr;
};

}  // namespace bench
