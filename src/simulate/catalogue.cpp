#include "workload.hpp"
#include "workload/sections.hpp"

namespace lockwright::simulate {

const std::vector<description>& catalogue() {
  static const std::vector<description> all = workloads_of_sections();
  return all;
}

}  // namespace lockwright::simulate
