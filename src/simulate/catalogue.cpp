#include "workload.hpp"
#include "workload/workloads.hpp"

namespace lockwright::simulate {

const std::vector<description>& catalogue() {
  static const std::vector<description> all = [] {
    std::vector<description> found = workloads_of_sections();
    for (const auto& some : {workloads_of_data(), workloads_of_waiting(), workloads_of_models(),
                             workloads_of_readers()}) {
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }();
  return all;
}

}  // namespace lockwright::simulate
