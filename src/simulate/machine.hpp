// The machine that is simulated: its shape, what each step costs on it, and which parts of the model
// are on. All times are picoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../programs/random.hpp"
#include "../programs/settings.hpp"

namespace lockwright::simulate {

using picoseconds = std::uint64_t;

/// How far two cores, or a core and a node's memory, are apart.
enum class distance : std::uint8_t {
  core,      ///< the same core
  cache,     ///< another core of the same last-level cache
  node,      ///< another cache of the same node
  package,   ///< another node of the same package
  far,       ///< another package
  two_hops,  ///< a pair of nodes that the machine file names
};
inline constexpr std::size_t distances = 6;
using cost_by_distance = std::array<std::uint64_t, distances>;

/// The figures of a machine, as `lockwright simulate` writes them for this program: one line each,
/// a name and whole numbers.
struct figures {
  // Shape.
  std::uint64_t packages = 0;
  std::uint64_t nodes_per_package = 0;
  std::uint64_t caches_per_node = 0;
  std::uint64_t cores_per_cache = 0;
  std::uint64_t threads_per_core = 0;
  std::uint64_t slow_cores = 0;  ///< the last ones of the machine
  std::uint64_t slow_work = 0;   ///< work takes so many thousandths on them

  // Accesses.
  std::uint64_t load_hit = 0;  ///< added to the steps around it, since hits overlap
  std::uint64_t store_hit = 0;
  std::uint64_t rmw_hit = 0;
  std::uint64_t call = 0;          ///< a call of a lock's function takes at least so long
  cost_by_distance load{};         ///< of a line that another core has, by the distance to it
  cost_by_distance store{};        ///< to get it for writing
  cost_by_distance rmw{};          ///< the same for a read-modify-write
  cost_by_distance memory{};       ///< of a line that no core has, by the distance to its home
  std::uint64_t shared_read = 0;   ///< after this time the next reader of a clean line is served
  std::uint64_t invalidate = 0;    ///< for each copy beyond the first that a writer takes away
  std::uint64_t store_buffer = 0;  ///< stores; 0: each store waits for its line
  std::uint64_t directory = 0;     ///< 1: a transfer that leaves the cache goes by the line's home
  std::uint64_t request = 0;       ///< thousandths of a transfer that pass while others are served
  std::uint64_t jitter = 0;        ///< of a transfer, in thousandths, to either side
  std::uint64_t nearest_first =
      0;  ///< how often a request may be passed by one from nearer; 0: FIFO

  std::uint64_t keep = 0;       ///< a core that gets a line for writing has it at least so long
  std::uint64_t migratory = 0;  ///< 1: a load of a modified line brings it for writing, too

  // Time on a processor.
  std::uint64_t pause = 0;
  std::uint64_t turn = 0;  ///< of the empty loop of Env::delay()
  std::uint64_t cycle = 0;
  std::uint64_t clock_read = 0;
  std::uint64_t work_jitter = 0;    ///< of work, in thousandths, to either side
  std::uint64_t kernel_jitter = 0;  ///< of futex calls, wake-ups and switches, in thousandths
  std::uint64_t smt_busy = 0;       ///< work beside a sibling that works takes so many thousandths
  std::uint64_t smt_pausing = 0;    ///< the same beside one that polls
  std::uint64_t skip_polls = 0;     ///< 1: polling an unchanged line costs no events

  // Caches of data.
  std::uint64_t cache_bytes = 0;   ///< of a last-level cache
  std::uint64_t data_by_node = 0;  ///< 1: all of a node share it
  std::uint64_t cache_read = 0;    ///< of a line that is in it
  std::uint64_t cache_miss = 0;    ///< of a line that is not
  std::uint64_t tlb_pages = 0;     ///< a core's translations
  std::uint64_t tlb_miss = 0;

  // The kernel.
  std::uint64_t futex_sleep = 0;     ///< of the caller before it sleeps
  std::uint64_t futex_wake = 0;      ///< of the caller for a wake call that wakes one
  std::uint64_t futex_miss = 0;      ///< of a call that finds no sleeper, or the word changed
  std::uint64_t futex_bucket = 0;    ///< for how long a call holds the bucket
  std::uint64_t wake_in_bucket = 0;  ///< 1: a wake call also holds it while it wakes threads
  std::uint64_t wake_latency = 0;  ///< from the wake to the first instruction, on an idle processor
  std::uint64_t interrupt = 0;     ///< of the caller of a wake that interrupts another processor
  std::uint64_t interrupt_latency = 0;  ///< what that adds to wake_latency
  std::uint64_t idle_depth = 0;         ///< a processor idle for so long sleeps deeply
  std::uint64_t idle_exit = 0;          ///< what waking from that takes in addition
  std::uint64_t switch_thread = 0;
  std::uint64_t yield = 0;
  std::uint64_t membarrier = 0;
  std::uint64_t slice = 0;          ///< of one among several threads
  std::uint64_t period = 0;         ///< 0, or: a slice is this over their number, at least `slice`
  std::uint64_t wake_preempts = 0;  ///< a woken thread preempts one that ran this long; 0: never
  std::uint64_t tick = 0;           ///< slices end at the next multiple of this; 0: at once
  std::uint64_t fair = 0;           ///< 1: queues are in the order of the time run; 0: FIFO
  std::uint64_t migration = 0;      ///< of a thread that an idle processor takes over
  std::uint64_t cache_hot = 0;      ///< a thread that ran less than this ago is not taken over

  // Microwatts of a hardware thread.
  std::uint64_t watts_running = 0;
  std::uint64_t watts_pausing = 0;
  std::uint64_t watts_idle = 0;
  std::uint64_t watts_deep = 0;
  std::uint64_t watts_base = 0;  ///< of the whole machine
};

/// A place on the machine.
struct place {
  std::uint32_t core;
  std::uint32_t cache;
  std::uint32_t node;
  std::uint32_t package;
};

/// The figures with what follows from them.
class machine {
 public:
  /// Reads the lines of a file. Ends the program with one line and status 2 where one is missing,
  /// unknown or no number.
  void read(const char* path);
  /// For tests: figures set in code.
  void use(const figures& given, const std::vector<std::array<std::uint32_t, 2>>& two_hops = {});

  [[nodiscard]] std::uint32_t processors() const { return processors_; }
  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  [[nodiscard]] std::uint32_t caches() const { return caches_; }
  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  [[nodiscard]] std::uint32_t packages() const { return static_cast<std::uint32_t>(all.packages); }

  /// Processors are numbered core by core, first one of each core, then its siblings.
  [[nodiscard]] const place& of_processor(std::uint32_t processor) const {
    return of_core_[processor % cores_];
  }
  [[nodiscard]] const place& of_core(std::uint32_t core) const { return of_core_[core]; }
  [[nodiscard]] distance between_cores(std::uint32_t a, std::uint32_t b) const {
    return between_cores_[a * cores_ + b];
  }
  [[nodiscard]] distance to_node(std::uint32_t core, std::uint32_t node) const {
    return to_node_[core * nodes_ + node];
  }

  [[nodiscard]] bool is_slow(std::uint32_t processor) const {
    return processor % cores_ >= cores_ - all.slow_cores;
  }

  figures all;

 private:
  std::uint32_t processors_ = 0;
  std::uint32_t cores_ = 0;
  std::uint32_t caches_ = 0;
  std::uint32_t nodes_ = 0;
  std::vector<place> of_core_;
  std::vector<distance> between_cores_;
  std::vector<distance> to_node_;
};

inline constexpr std::uint32_t most_cores = 1024;

using programs::fail;
using programs::random_source;
using programs::refuse;

}  // namespace lockwright::simulate
