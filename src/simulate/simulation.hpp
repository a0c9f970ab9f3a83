// One run of a simulated program on a simulated machine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "arena.hpp"
#include "caches.hpp"
#include "counts.hpp"
#include "events.hpp"
#include "machine.hpp"
#include "pieces.hpp"
#include "scheduler.hpp"
#include "thread.hpp"
#include "working_sets.hpp"

namespace lockwright::simulate {

/// What the simulated threads call, through lockwright/env/simulated.hpp and by the workloads. There
/// is one simulation in a process.
class simulation {
 public:
  simulation(const machine& m, std::uint64_t seed);
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;
  ~simulation();

  arena memory;
  pieces owned{memory};
  timeline time;
  counts counted;
  scheduler processors;
  working_sets sets;          ///< of data, in the last-level caches
  working_sets translations;  ///< of pages, in a core's table of translations

  /// Makes a thread that runs `body` on that processor to begin with.
  thread& add(std::uint32_t processor, std::function<void()> body);

  /// Runs until all threads have ended. From `warm_up` on is measured, for `length`.
  void run(picoseconds warm_up, picoseconds length);

  /// Whether the measurement is over: threads end their loops.
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] bool measures() const { return measures_; }
  /// When the measurement ends or ended.
  [[nodiscard]] picoseconds ends_at() const { return ends_at_; }
  /// The counts when the measurement began, to be subtracted from those at its end.
  [[nodiscard]] const counts& before() const { return before_; }
  [[nodiscard]] const counts& after() const { return after_; }
  /// Called when the measurement begins and when it ends.
  std::function<void(bool begins)> on_phase;

  [[nodiscard]] const machine& on() const { return machine_; }
  [[nodiscard]] thread* caller() const { return current_; }
  [[nodiscard]] std::uint32_t core_of(const thread& t) const {
    return t.processor % machine_.cores();
  }

  /// One in so many steps finds the processor taken by an interrupt for some microseconds; 0: none.
  std::uint64_t interrupt_every = 0;

  // Steps of the calling thread.
  std::uint64_t load(const void* at, std::uint32_t bytes);
  void store(void* at, std::uint64_t bits, std::uint32_t bytes);
  void begin_change(void* at);
  /// Loads and stores of the thread's own memory, which is in its core's cache.
  void touch_own(std::uint64_t loads, std::uint64_t stores);
  void forget_stores(const void* at);
  /// Ends an iteration of a loop that polls.
  void relax();
  void work(picoseconds length);
  /// Reads data for that long.
  void read_data(picoseconds length);
  /// Steps whose length is taken as it is.
  void spend(picoseconds length);
  /// The time of the calling thread, of which it may have used some that has not passed yet.
  [[nodiscard]] picoseconds callers_time() const { return time.now + current_->ahead; }
  /// The calling thread's next step begins then at the earliest.
  void spend_until(picoseconds then);
  /// The same for a step of the kernel, whose length varies.
  void spend_in_kernel(picoseconds length);
  void yield();
  void sleep(const void* at, std::uint32_t expected, std::uint64_t deadline_ns);
  void wake(const void* at, std::uint32_t count);
  void membarrier();
  void move_to(std::uint32_t processor);
  std::uint64_t now_ns();
  /// Its store buffer is empty.
  void drain_stores();
  /// No thread may touch these lines any more.
  void kill(const void* at, std::size_t bytes);
  /// All of its time has passed: what it does next happens now.
  void pass_time();

 private:
  struct sleepers {
    std::deque<thread*> queue;
  };

  void suspend();
  void resume(thread& t);
  void commit_stores(thread& t);
  void wait_for_line(std::uint32_t line, access how);
  void on_arrival(std::uint32_t transfer);
  void on_deadline(thread& t, std::uint64_t sleep);
  /// The call keeps the bucket for `longer` after it has done so.
  void pass_bucket(const void* at, picoseconds longer = 0);
  void begin_step();
  void interrupt();
  void skip_polls();
  bool replay(const void* at, std::uint64_t& bits);
  [[noreturn]] void stuck(const char* how);

  const machine& machine_;
  random_source random_;
  caches lines_;
  std::deque<thread> threads_;
  thread* current_ = nullptr;
  boost::context::fiber* scheduler_fiber_ = nullptr;
  std::uint32_t alive_ = 0;
  std::unordered_map<const void*, sleepers> asleep_;
  std::vector<picoseconds> bucket_busy_until_;
  bool measures_ = false;
  bool over_ = false;
  picoseconds ends_at_ = 0;
  picoseconds worked_ = 0;  ///< by all threads
  counts before_;
  counts after_;
};

/// The one that runs; set by its constructor.
simulation& running();
/// Whether one of its threads calls.
bool is_inside();

}  // namespace lockwright::simulate
