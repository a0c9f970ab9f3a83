// The files of workloads, each with its part of the catalogue.
#pragma once

#include <vector>

#include "../workload.hpp"

namespace lockwright::simulate {

std::vector<description> workloads_of_sections();

}  // namespace lockwright::simulate
