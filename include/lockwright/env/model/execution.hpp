// The state of one execution (one interleaving) besides the lock: the threads' free queue
// nodes and the reserved memory. Reset before each execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lockwright/env/model/history.hpp"
#include "lockwright/env/model/relacy.hpp"

namespace lockwright::model_env {

inline constexpr std::uint32_t max_threads = 5;
inline constexpr std::uint32_t max_nodes = 64;

/// The settings of all executions of a run.
struct settings {
  std::uint32_t nodes = 2;       ///< NUMA nodes
  std::uint32_t caches = 1;      ///< groups of CPUs that share a cache, in each node
  bool migrates = false;         ///< a thread may be on any node at each query
  bool impatient = false;        ///< a poller may reach its spin bound at any moment
  bool spurious = false;         ///< each thread's sleep may end early, once
  bool watched = false;          ///< a race detector observes the program
  bool short_of_memory = false;  ///< reserve() may fail
  std::size_t common_bytes = 0;  ///< of what all locks share, made before the threads are
  bool reduced = false;  ///< the search is reduced_search, which wants to know each next step
};

inline settings settings_now;

/// Fails the execution: Relacy stops it here.
inline void fail(const char* what, rl::test_result_e kind, const rl::debug_info& info) {
  history_now.problem = what;
  history_now.thread = rl::thread_index();
  history_now.file = info.file_;
  history_now.line = info.line_;
  rl::ctx().fail_test(what, kind, info);
}

/// A number below `limit`; the search tries them all.
[[nodiscard]] inline std::uint32_t choose(std::uint32_t limit) {
  return rl::ctx().rand(limit, rl::sched_type_user);
}

/// The next step of a thread, as other threads can observe it.
struct next_step {
  enum kind : std::uint8_t {
    nothing,   ///< runs to its next step
    load,      ///< reads the object at `place`
    change,    ///< reads and writes it
    anything,  ///< may touch several objects
  };
  kind what = nothing;
  const void* place = nullptr;

  [[nodiscard]] bool commutes_with(const next_step& other) const {
    if (what == anything || other.what == anything) {
      return false;
    }
    return place != other.place || (what == load && other.what == load);
  }
};

struct thread_state {
  next_step next;
  bool fresh = true;                   ///< has just been scheduled, and made no step since
  std::uint32_t batch_polls_left = 0;  ///< remaining polls that no other step interrupts
  const void* polled = nullptr;        ///< the object loaded last; a batch polls it
  bool polls_a_word = false;           ///< that object can be slept on
  bool patient = false;                ///< polls one at a time until its next step of another kind
  bool woke_early = false;             ///< has had its spurious wake-up
  std::uint32_t gave_up_early = 0;     ///< sleeps whose deadline came at once
  std::size_t makes_node = 0;          ///< the node under construction, which is to hold junk
  bool remembers = false;              ///< has a hint about locks
  bool remembered = false;             ///< that hint
  std::uint64_t clock = 0;
  std::uint64_t numbers_drawn = 0;
  std::uint32_t life = 0;  ///< number of earlier threads that it replaces
  void* own = nullptr;     ///< its own piece of memory
  std::uint32_t free_count = 0;
  std::byte* free_nodes[max_nodes];
};

/// Reserved memory, and the objects in it that have been used: no thread constructs those,
/// so their lifetime begins at their first use.
struct block {
  static constexpr std::uint32_t max_objects = 64;
  struct object {
    void* self;
    void (*destroy)(void*);
  };

  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  const void* owner = nullptr;
  rl::var_data* making = nullptr;
  std::uint32_t count = 0;
  object objects[max_objects];

  [[nodiscard]] bool holds(const void* p) const { return begin <= p && p < begin + bytes; }
};

class execution {
 public:
  static constexpr std::size_t node_size = 1024;

  thread_state threads[max_threads];
  std::uint32_t nodes_taken = 0;
  std::uint32_t blocks_reserved = 0;

  void begin() {
    for (thread_state& t : threads) {
      t.next = {};
      t.fresh = true;
      t.batch_polls_left = 0;
      t.polled = nullptr;
      t.polls_a_word = t.patient = t.woke_early = false;
      t.makes_node = 0;
      t.gave_up_early = 0;
      t.remembers = t.remembered = false;
      t.clock = t.numbers_drawn = 0;
      t.life = 0;
      t.free_count = 0;
      t.own = nullptr;
    }
    nodes_taken = 0;
    blocks_reserved = 0;
    nodes_cut_ = 0;
    shared_count_ = 0;
    pieces_cut_ = 0;
    left_count_ = 0;
    block_count_ = 0;
    block_bytes_ = 0;
    common_ = nullptr;
  }

  /// Gives the common memory back.
  void end() {
    if (common_ != nullptr) {
      unreserve(common_, RL_INFO);
    }
  }

  /// The node that the calling thread gave back last, else a new one: frequent reuse exposes
  /// accesses to a reused node.
  void* take_node() {
    thread_state& me = threads[rl::thread_index()];
    ++nodes_taken;
    std::byte* node = nullptr;
    if (me.free_count != 0) {
      node = me.free_nodes[--me.free_count];
    } else if (shared_count_ != 0) {
      node = shared_nodes_[--shared_count_];
    } else {
      if (nodes_cut_ == max_nodes) {
        fail("more queue nodes than this model holds", rl::test_result_inconsistent_test_suite,
             RL_INFO);
      }
      node = node_memory_ + node_size * nodes_cut_++;
    }
    published_[node_at(node)] = false;
    record(event::take_node, "", node, 0);
    return node;
  }

  /// Called when a pointer has been written where other threads may read it.
  void publish(const void* p) {
    if (const std::size_t node = node_at(p); node < max_nodes) {
      published_[node] = true;
    }
  }

  /// The number of the node that contains `p`, from 1 on; 0 if none does.
  [[nodiscard]] std::size_t node_number(const void* p) const {
    const std::size_t node = node_at(p);
    return node < max_nodes ? node + 1 : 0;
  }

  /// The same for a block of reserved memory.
  [[nodiscard]] std::size_t block_number(const void* p) const {
    for (std::uint32_t i = 0; i < block_count_; ++i) {
      if (blocks_[i].holds(p)) {
        return i + 1;
      }
    }
    return 0;
  }

  /// True if `p` is in a node that only its thread has a pointer to.
  [[nodiscard]] bool is_private(const void* p) const {
    const std::size_t node = node_at(p);
    return node < max_nodes && !published_[node];
  }

  void give_node(void* node) {
    record(event::give_node, "", node, 0);
    thread_state& me = threads[rl::thread_index()];
    --nodes_taken;
    me.free_nodes[me.free_count++] = static_cast<std::byte*>(node);
  }

  static std::size_t reserved_size(std::size_t bytes) { return (bytes + 63) & ~std::size_t{63}; }

  void* reserve(std::size_t bytes, const void* owner) {
    bytes = reserved_size(bytes);
    if (block_count_ == max_blocks || block_bytes_ + bytes > sizeof block_memory_) {
      fail("more reserved memory than this model holds", rl::test_result_inconsistent_test_suite,
           RL_INFO);
    }
    block& b = blocks_[block_count_++];
    b.begin = block_memory_ + block_bytes_;
    b.bytes = bytes;
    b.owner = owner;
    b.count = 0;
    block_bytes_ += bytes;  // Not reused in this execution, so that late accesses are detected.
    ++blocks_reserved;
    std::memset(b.begin, 0, bytes);
    rl::context& c = rl::ctx();
    b.making = c.var_ctor();
    b.making->init(*c.threadx_);
    return b.begin;
  }

  /// Reserves the memory that all locks share.
  void make_common(std::size_t bytes) {
    if (bytes != 0) {
      common_ = reserve(bytes, nullptr);
    }
  }
  [[nodiscard]] void* common() const { return common_; }

  /// Also for memory that was given back, so that a use after that is detected.
  [[nodiscard]] bool is_reserved_for(const void* memory, const void* owner) {
    const block* b = block_of(memory);
    return b != nullptr && b->owner == owner;
  }

  void unreserve(void* memory, const rl::debug_info& info) {
    block* b = block_of(memory);
    rl::context& c = rl::ctx();
    if (b == nullptr || b->begin != memory || b->making == nullptr) {
      fail("given back what was not reserved", rl::test_result_double_free, info);
      return;
    }
    if (!b->making->store(*c.threadx_)) {
      fail("reserved memory given back while in use", rl::test_result_data_race, info);
    }
    for (std::uint32_t i = 0; i < b->count; ++i) {
      b->objects[i].destroy(b->objects[i].self);
    }
    c.var_dtor(b->making);
    b->making = nullptr;
    --blocks_reserved;
    std::memset(b->begin, 0xdd, b->bytes);
  }

  /// The piece of a thread that has ended, for a later thread; null if there is none.
  [[nodiscard]] void* piece_of_ended_thread() {
    return left_count_ == 0 ? nullptr : left_[--left_count_];
  }

  /// Memory for a thread's own piece. `destroy` is called on the object there.
  [[nodiscard]] void* cut_piece(void (*destroy)(void*)) {
    if (pieces_cut_ == max_pieces) {
      fail("more threads with a piece of their own than this model holds",
           rl::test_result_inconsistent_test_suite, RL_INFO);
    }
    destroy_piece_[pieces_cut_] = destroy;
    return piece_memory_ + node_size * pieces_cut_++;
  }

  void destroy_pieces() {
    for (std::uint32_t i = 0; i < pieces_cut_; ++i) {
      destroy_piece_[i](piece_memory_ + node_size * i);
    }
  }

  /// Ends the calling thread, and begins another that replaces it. The nodes are left to all
  /// threads, the own piece, unchanged, to a thread that begins later.
  void replace_thread() {
    thread_state& me = threads[rl::thread_index()];
    if (me.own != nullptr) {
      left_[left_count_++] = me.own;
      me.own = nullptr;
    }
    while (me.free_count != 0) {
      shared_nodes_[shared_count_++] = me.free_nodes[--me.free_count];
    }
    me.remembers = me.remembered = false;
    ++me.life;
    record(event::replaced, "", nullptr, 0);
  }

  [[nodiscard]] block* block_of(const void* p) {
    for (std::uint32_t i = 0; i < block_count_; ++i) {
      if (blocks_[i].holds(p)) {
        return &blocks_[i];
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::uint32_t max_blocks = 16;
  static constexpr std::uint32_t max_pieces = 2 * max_threads;

  [[nodiscard]] std::size_t node_at(const void* p) const {
    // Far beyond max_nodes for other memory.
    return (reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(node_memory_)) /
           node_size;
  }

  std::uint32_t nodes_cut_ = 0;
  bool published_[max_nodes] = {};
  std::uint32_t shared_count_ = 0;
  std::byte* shared_nodes_[max_nodes];
  std::uint32_t pieces_cut_ = 0;
  void (*destroy_piece_[max_pieces])(void*);
  std::uint32_t left_count_ = 0;
  void* left_[max_pieces];
  std::uint32_t block_count_ = 0;
  std::size_t block_bytes_ = 0;
  void* common_ = nullptr;
  block blocks_[max_blocks];
  alignas(64) std::byte node_memory_[node_size * max_nodes];
  alignas(64) std::byte piece_memory_[node_size * max_pieces];
  alignas(64) std::byte block_memory_[std::size_t{1} << 17];
};

inline execution execution_now;

[[nodiscard]] inline thread_state& this_thread() {
  return execution_now.threads[rl::thread_index()];
}

/// A point at which other threads may run, but need not run again before the next step.
class pause {
 public:
  pause() { this_thread().next = {}; }
  ~pause() { this_thread().fresh = true; }
  pause(const pause&) = delete;
  pause& operator=(const pause&) = delete;
};

/// One atomic step of the calling thread: others may run before it, not within it.
///
/// Where the order cannot matter, no other thread runs, which leaves fewer executions to search:
/// right after another point at which others could run (`fresh`), at objects to which no other
/// thread has a pointer, and between the polls of a batch.
class step : rl::preemption_disabler {
 public:
  explicit step(const next_step& next) : rl::preemption_disabler(after_others(next)) {}

 private:
  static rl::context& after_others(const next_step& next) {
    rl::context& c = rl::ctx();
    thread_state& me = this_thread();
    const void* polled = next.what == next_step::load ? next.place : nullptr;
    if (me.batch_polls_left != 0 && polled != nullptr && polled == me.polled) {
      return c;
    }
    me.batch_polls_left = 0;
    me.patient = me.patient && polled != nullptr && polled == me.polled;
    me.polled = polled;
    if (execution_now.is_private(next.place)) {
      return c;
    }
    if (!me.fresh || settings_now.reduced) {
      me.next = next;
      c.sched();
      me.next = {};
    }
    me.fresh = false;
    return c;
  }
};

}  // namespace lockwright::model_env
