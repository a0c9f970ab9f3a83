// The files of workloads, each with its part of the catalogue.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "../workload.hpp"

namespace lockwright::simulate {

std::vector<description> workloads_of_data();
std::vector<description> workloads_of_models();
std::vector<description> workloads_of_readers();
std::vector<description> workloads_of_sections();
std::vector<description> workloads_of_waiting();

/// In simulated memory, on lines of its own, for as long as the simulation lasts.
template <class T, class... Arguments>
T& placed(simulation& in, Arguments&&... arguments) {
  constexpr std::size_t cache_line_pair = 128;
  return *::new (in.memory.cut(sizeof(T) + cache_line_pair, cache_line_pair)) T(arguments...);
}

template <class W>
std::unique_ptr<workload> make_workload(const context& with) {
  return std::make_unique<W>(with);
}

}  // namespace lockwright::simulate
