// The interface of every lock algorithm, and its traits.
#pragma once

#include <concepts>
#include <cstdint>

namespace lockwright {

/// The state in which an acquisition found the lock.
enum class arrival : std::uint8_t {
  uncontended,  ///< no thread held the lock; it was acquired at once
  contended,    ///< the caller had to wait
};

/// The study's categories of lock algorithms.
enum class category : std::uint8_t {
  library,                 ///< the C library's own mutex
  competitive_succession,  ///< unlock marks the lock free and every waiter may race for it
  direct_handoff,          ///< unlock names the successor
  hierarchical,            ///< keeps the lock on one NUMA node for a while
  load_control,            ///< watches contention or preemption and changes its behaviour
};

/// How a thread waits.
enum class waiting : std::uint8_t {
  spin,            ///< polls until the lock is granted
  spin_backoff,    ///< polls, with growing delays between attempts
  spin_then_park,  ///< polls for a bounded time, then sleeps in the kernel
  park,            ///< sleeps in the kernel at once
};

/// The choice of the next holder where threads have real-time priorities (SCHED_FIFO, SCHED_RR).
enum class realtime : std::uint8_t {
  by_priority,  ///< the waiter of the highest priority, as with the C library's mutex
  own_order,    ///< the algorithm's choice; priorities do not count
  /// A waiter that polls never leaves its processor to a thread of lower priority: if
  /// that is the holder, neither proceeds.
  starves,
};

/// The trait of a lock that has its own order if its waiters sleep.
[[nodiscard]] constexpr realtime own_order_unless_polling(waiting policy) {
  return policy == waiting::spin || policy == waiting::spin_backoff ? realtime::starves
                                                                    : realtime::own_order;
}

/// A workload condition that some locks suit best.
enum class use_case : std::uint8_t {
  none,
  crowded,             ///< more threads want to run than there are processors
  trylock_loop,        ///< threads call trylock in a loop
  memory_contention,   ///< threads wait for memory, in sections and between them
  extreme_contention,  ///< most threads wait for one lock, on several NUMA nodes
  high_contention,     ///< many threads wait for one lock
  private_mutexes,     ///< each mutex is taken by one thread at a time, without contention
  low_contention,      ///< mutexes are mostly free when they are taken
};

/// A use case for which an algorithm is recommended.
struct suitability {
  use_case when = use_case::none;
  std::uint8_t rank = 0;  ///< 1 is tried first; at equal rank, the lock that needs less memory
  const char* why = "";   ///< the reason in a few words, with its publication
};

/// The use cases of an algorithm; none where nothing is known.
struct suit_list {
  suitability all[4]{};
};

/// Atomic read-modify-writes of an uncontended call.
struct atomic_counts {
  std::uint8_t lock = 1;
  std::uint8_t unlock = 1;
};

/// The declared properties of an algorithm: the static member `traits` of each lock, from which
/// the build writes `locks.json`.
struct lock_traits {
  lockwright::category category;
  lockwright::waiting waiting;
  lockwright::realtime realtime;
  bool fifo = false;  ///< admission order is arrival order
  /// Uncontended, at most one atomic read-modify-write to lock, one to unlock, and no queue node.
  bool light = false;
  bool numa_aware = false;  ///< behaviour depends on the caller's NUMA node
  bool hardened_trylock =
      false;  ///< a trylock costs so much that polling it does not flood the lock
  std::uint32_t node_bytes = 0;  ///< bytes of queue node per lock held or awaited
  bool yields = false;       ///< a waiter yields its processor a number of times before it sleeps
  bool low_traffic = false;  ///< polls rarely, or keeps few threads in circulation
  /// Threads make progress when they outnumber the processors, though waiters do not park: waiters
  /// that do not run are passed over, or all but a few sleep. Implied for locks that park.
  bool survives_oversubscription = false;
  atomic_counts atomics = {};  ///< of a light lock; a test counts them
  suit_list suits = {};        ///< read by `lockwright advise` and `tune`
  /// `lockwright run` uses it where no lock is named; true for one lock.
  bool is_default = false;
  const char* patents = "";  ///< related patents; see docs/patents.md
  const char* reference;     ///< the publication of the algorithm
  const char* summary;       ///< a description in two sentences

  [[nodiscard]] constexpr bool parks() const {
    return waiting == lockwright::waiting::spin_then_park || waiting == lockwright::waiting::park;
  }
};

/// A lock that std::lock_guard can use, with traits.
/// All-zero memory is an unlocked lock, which is what the default constructor makes.
template <class L>
concept Lock = std::default_initializable<L> && requires(L lock) {
  { lock.lock() } -> std::same_as<arrival>;
  { lock.unlock() } -> std::same_as<void>;
  { L::traits.category } -> std::convertible_to<category>;
};

/// A lock with a trylock that takes a bounded number of steps.
template <class L>
concept TryLock = Lock<L> && requires(L lock) {
  { lock.try_lock() } -> std::same_as<bool>;
};

/// A lock whose lock() is try_lock() and, where that fails, wait_and_lock(). A caller that makes the
/// two calls itself can make the second a tail call, and saves no registers across the first.
template <class L>
concept TwoStepLock = TryLock<L> && requires(L lock) {
  { lock.wait_and_lock() } -> std::same_as<arrival>;
};

/// A lock whose waiters can give up at a deadline (nanoseconds of Env::now()).
template <class L>
concept TimedLock = TryLock<L> && requires(L lock, std::uint64_t deadline) {
  { lock.try_lock_until(deadline) } -> std::same_as<bool>;
};

/// The class with the constants that an algorithm declares beside its traits, such as its number of
/// levels: the lock itself, or the lock in a wrapper, which the wrapper names as `algorithm`.
template <class L>
struct algorithm_of {
  using type = L;
};
template <class L>
  requires requires { typename L::algorithm; }
struct algorithm_of<L> {
  using type = typename L::algorithm;
};

/// True if a NUMA node that waits gets the lock before one that comes later: unless the algorithm
/// says otherwise, by a constant of that name.
template <class L>
[[nodiscard]] constexpr bool fair_between_nodes() {
  using algorithm = typename algorithm_of<L>::type;
  if constexpr (requires { algorithm::fair_between_nodes; }) {
    return algorithm::fair_between_nodes;
  } else {
    return true;
  }
}

/// True if the libraries use the lock's own wait with a deadline. Where waiters, or the first ones
/// of NUMA nodes, only poll, for a lock without an order, one may never be admitted; see
/// preload/timed_wait.hpp.
template <class L>
inline constexpr bool is_abortable =
    TimedLock<L> && (L::traits.fifo || (L::traits.parks() && fair_between_nodes<L>()));

/// Bytes per mutex that an algorithm uses outside the mutex: its bytes_outside() for this machine,
/// or zero.
template <class L>
[[nodiscard]] std::uint64_t bytes_outside() {
  if constexpr (requires { L::bytes_outside(); }) {
    return L::bytes_outside();
  } else {
    return 0;
  }
}

}  // namespace lockwright
