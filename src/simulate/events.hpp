// What will happen, in the order of time, and of their making at the same time.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "machine.hpp"

namespace lockwright::simulate {

enum class occasion : std::uint8_t {
  resume,       ///< thread `number` continues, if it still waits with number `data`
  ready,        ///< thread `number`, which was woken, can run
  transferred,  ///< transfer `number` has brought its line
  line_free,    ///< line `number` can serve the next request
  slice_ends,   ///< on processor `number`, if its slice is still `data`
  deadline,     ///< of the sleep `data` of thread `number`
  measuring,    ///< begins
  over,         ///< measuring ends
};

struct event {
  picoseconds at;
  std::uint64_t order;
  occasion what;
  std::uint32_t number;
  std::uint64_t data;
};

class timeline {
 public:
  picoseconds now = 0;

  void add(picoseconds at, occasion what, std::uint32_t number, std::uint64_t data = 0) {
    events_.push({at, ++made_, what, number, data});
  }

  [[nodiscard]] bool empty() const { return events_.empty(); }
  /// Whether nothing happens up to that moment.
  [[nodiscard]] bool nothing_until(picoseconds at) const {
    return events_.empty() || events_.top().at > at;
  }

  event next() {
    const event first = events_.top();
    events_.pop();
    now = first.at;
    return first;
  }

  /// How many have been added: what the simulation has cost.
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  struct later {
    bool operator()(const event& a, const event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  std::priority_queue<event, std::vector<event>, later> events_;
  std::uint64_t made_ = 0;
};

}  // namespace lockwright::simulate
