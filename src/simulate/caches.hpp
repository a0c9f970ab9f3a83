// Which core holds which cache line, and what it costs to get one.
//
// A line is with one core for writing, or with any number for reading, or in memory. A core that
// needs it sends a request, and the line serves one request after the other. From the beginning of
// a transfer for writing no other core can write; until its end, a core that holds a copy still
// reads that.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "arena.hpp"
#include "counts.hpp"
#include "events.hpp"
#include "machine.hpp"
#include "thread.hpp"

namespace lockwright::simulate {

enum class access : std::uint8_t { load, store, change };

class caches {
 public:
  caches(const machine& m, timeline& t, counts& c, random_source& r)
      : machine_{m}, timeline_{t}, counts_{c}, random_{r} {}

  /// Takes its table from the arena.
  void open(arena& memory);

  /// The number of the line of an address.
  std::uint32_t number_of(const void* at, std::uint32_t core);

  /// Whether a core can make the access without a transfer. It then has the line as it needs it.
  bool has(std::uint32_t line, std::uint32_t core, access how);

  /// Requests the line. An event `transferred` notifies `requester` when it has it.
  void request(std::uint32_t line, std::uint32_t core, access how, thread& requester);

  /// Ends a transfer: the core has the line.
  struct arrival {
    thread* requester;
    access how;
  };
  arrival complete(std::uint32_t transfer);

  /// The line can serve the next request.
  void serve_next(std::uint32_t line);

  /// Threads that skip polls of a line are notified when it is taken away or changes.
  void watch(std::uint32_t line, thread& poller) { lines_[line].pollers.push_back(&poller); }
  void unwatch(std::uint32_t line, const thread& poller);
  /// Empties the line's list.
  std::vector<thread*> pollers(std::uint32_t line);

  /// From now on an access to the line is a fault of the lock.
  void kill(std::uint32_t line) { lines_[line].dead = true; }

  /// Called for each line that is taken from the cores with copies; set by the simulation.
  void (*on_change)(std::uint32_t line) = nullptr;

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  struct waiting {
    std::uint32_t core;
    access how;
    thread* requester;
    std::uint64_t passed;
    picoseconds asked_at;
  };
  struct cached_line {
    std::array<std::uint64_t, most_cores / 64> copies{};
    std::uint32_t writer = nobody;
    bool modified = false;  ///< by the writer, since it got the line
    std::uint32_t home = 0;
    std::uint32_t last = 0;  ///< core that got it last
    std::uint32_t version = 0;
    bool busy = false;
    bool dead = false;
    std::vector<waiting> queue;
    std::vector<thread*> pollers;

    [[nodiscard]] bool has_copy(std::uint32_t core) const {
      return (copies[core / 64] >> core % 64 & 1) != 0;
    }
    void add_copy(std::uint32_t core) { copies[core / 64] |= std::uint64_t{1} << core % 64; }
  };
  struct transfer {
    std::uint32_t line;
    std::uint32_t version;
    waiting what;
    bool frees_line;
    bool for_writing;
  };

  struct others {
    std::uint32_t count;
    distance nearest;
    distance farthest;
  };
  [[nodiscard]] others others_of(const cached_line& l, std::uint32_t core) const;
  [[nodiscard]] distance by_way_of_home(distance direct, std::uint32_t core,
                                        const cached_line& l) const;
  void start(std::uint32_t number, const waiting& what);
  std::size_t choose(const cached_line& l);

  const machine& machine_;
  timeline& timeline_;
  counts& counts_;
  random_source& random_;
  std::uint32_t* table_ = nullptr;  ///< a line's number plus one, by its place in the arena
  std::deque<cached_line> lines_;
  std::vector<std::uint32_t> home_of_page_;
  std::vector<transfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
};

}  // namespace lockwright::simulate
