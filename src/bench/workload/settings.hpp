// The values with which a workload runs.
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "../bench.hpp"
#include "description.hpp"

namespace bench {

// The values of a workload's parameters, from the command line.
class settings {
 public:
  // Ends the program if an option is unknown or its value is invalid. An option overrides the preset,
  // which overrides the initial value.
  settings(const description& workload, int argc, char** argv);

  [[nodiscard]] double real(std::string_view name) const { return given_->real(name); }
  [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t least = 0) const {
    return given_->count(name, least);
  }
  [[nodiscard]] bool is(std::string_view name) const { return given_->real(name) != 0; }

  [[nodiscard]] std::uint64_t threads() const { return count("threads", 1); }
  // Loops of spin_loops for a number of nanoseconds, or of processor cycles.
  [[nodiscard]] std::uint64_t loops_of_ns(double ns) const { return scale_.loops(ns); }
  [[nodiscard]] static std::uint64_t loops_of_cycles(double cycles) {
    return static_cast<std::uint64_t>(cycles / static_cast<double>(cycles_per_loop));
  }
  [[nodiscard]] double loops_per_us() const { return scale_.loops_per_us(); }

  // Binds the calling thread, the `index`-th, to the processors that --pin has for it.
  void pin(std::uint64_t index) const;

 private:
  std::vector<cpu_set_t> places_;
  std::unique_ptr<options> given_;
  work_scale scale_{1};
};

// The parameters that every workload has.
const std::vector<parameter>& common_parameters();

}  // namespace bench
