// The distribution of a duration over many trials, as a machine file states it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "support.hpp"

namespace bench {

class trials {
 public:
  void add(double ns) { ns_.push_back(ns); }

  // Adds the fields NAME_ns, NAME_low and NAME_high: the median, the 10th and the 90th percentile.
  void print(result& line, const std::string& name) {
    if (ns_.empty()) {
      return;
    }
    std::sort(ns_.begin(), ns_.end());
    line.field(name + "_ns", at(0.5)).field(name + "_low", at(0.1)).field(name + "_high", at(0.9));
  }

 private:
  [[nodiscard]] double at(double share) const {
    return ns_[static_cast<std::size_t>(share * static_cast<double>(ns_.size() - 1))];
  }

  std::vector<double> ns_;
};

}  // namespace bench
