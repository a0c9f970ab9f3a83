// The files of workloads, each with its part of the catalogue.
#pragma once

#include <memory>
#include <vector>

#include "../workload.hpp"

namespace lockwright::simulate {

std::vector<description> workloads_of_data();
std::vector<description> workloads_of_readers();
std::vector<description> workloads_of_sections();
std::vector<description> workloads_of_waiting();

template <class W>
std::unique_ptr<workload> make_workload(const context& with) {
  return std::make_unique<W>(with);
}

}  // namespace lockwright::simulate
