// The measurements that calibration consists of: durations of what locks and programs are made of.
#pragma once

#include <vector>

#include "support.hpp"

namespace bench {

using options = lockwright::programs::settings;

struct probe {
  const char* name;
  int (*run)(const options& given);
  const char* measures;
  std::vector<parameter> parameters;
};

const std::vector<probe>& probes();

// The probe of that name; null without one.
const probe* find_probe(const char* name);
// Runs it with the options; returns the exit status.
int run(const probe& one, int argc, char** argv);

int accesses(const options& given);
int data(const options& given);
int kernel(const options& given);
int park(const options& given);
int pause(const options& given);
int preempt(const options& given);
int sleep(const options& given);
int transfer(const options& given);
int uncontended(const options& given);

}  // namespace bench
