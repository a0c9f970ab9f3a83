// Watches that every thread gets on.
#pragma once

#include <cstdint>
#include <vector>

#include "stage.hpp"

namespace torture {

// A thread fails the run that
// - does one and the same for longer than the patience; if it waits for a mutex, only when nobody has
//   entered that for as long, or after three times that,
// - has waited for a second while so many entered the mutex that a lock, however unfair on purpose,
//   would have let it in.
class watch {
 public:
  explicit watch(const stage& on);
  void look();

 private:
  struct wait {
    std::uint64_t since = 0;
    std::uint64_t entries = 0;  // of its mutex, when the wait was first seen
  };
  struct traffic {
    std::uint64_t entries = 0;
    std::uint64_t changed = 0;  // the tick
  };

  void judge(const actor& one, act what, const wait& seen) const;

  const stage& on_;
  std::vector<wait> waits_;
  std::vector<traffic> traffic_;
};

}  // namespace torture
