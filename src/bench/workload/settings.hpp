// The values with which a workload runs on this machine.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../../calibrate/support.hpp"
#include "../../workload/description.hpp"

namespace bench {

using lockwright::workloads::description;

// The values of a workload's parameters, from the command line.
class settings : public lockwright::programs::settings {
 public:
  // Ends the program if an option is unknown or its value is invalid. An option overrides the preset,
  // which overrides the initial value.
  settings(const description& workload, int argc, char** argv);

  [[nodiscard]] std::uint64_t threads() const { return count("threads", 1); }
  // Loops of spin_loops for the parameter `what`-cycles or `what`-ns, or as `what`-loops says.
  [[nodiscard]] std::uint64_t length(const std::string& what) const;
  [[nodiscard]] double loops_per_us() const { return scale_.loops_per_us(); }
  [[nodiscard]] static random_source random(std::size_t index) { return random_source{index}; }

  // Binds the calling thread, the `index`-th, to the processors that --pin has for it.
  void pin(std::uint64_t index) const;

 private:
  std::vector<cpu_set_t> places_;
  work_scale scale_{1};
};

// The parameters that every workload has.
const std::vector<parameter>& common_parameters();

}  // namespace bench
