// The machine: the environment in which the locks ship.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/env/native/barrier.hpp"
#include "lockwright/env/native/blocks.hpp"
#include "lockwright/env/native/bytes.hpp"
#include "lockwright/env/native/clock.hpp"
#include "lockwright/env/native/common.hpp"
#include "lockwright/env/native/futex.hpp"
#include "lockwright/env/native/hints.hpp"
#include "lockwright/env/native/load.hpp"
#include "lockwright/env/native/numbers.hpp"
#include "lockwright/env/native/pool.hpp"
#include "lockwright/env/native/random.hpp"
#include "lockwright/env/native/settings.hpp"
#include "lockwright/env/native/thread.hpp"
#include "lockwright/env/native/topology.hpp"

namespace lockwright {

/// The system interface of an algorithm, which takes it as a type. Every member is static.
struct native {
  /// Shared between threads without a lock.
  template <class T>
  using atomic = std::atomic<T>;

  /// Written and read only by the thread that holds the lock.
  template <class T>
  using plain = T;

  /// The processor's pause instruction, for a polling loop.
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  /// Runs `iterations` iterations of an empty loop, without accesses to memory.
  static void delay(std::uint32_t iterations) {
    for (std::uint32_t i = 0; i < iterations; ++i) {
      asm volatile("" ::: "memory");
    }
  }

  /// Lets another thread of this CPU run.
  static void yield() { native_env::yield(); }

  /// Sleeps while `word` holds `expected`; may return early for any reason.
  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    native_env::futex_wait(word, expected);
  }

  /// As wait(), but not beyond `deadline` of now().
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline) {
    const timespec until{static_cast<time_t>(deadline / 1'000'000'000u),
                         static_cast<long>(deadline % 1'000'000'000u)};
    native_env::futex_wait_until(word, expected, CLOCK_MONOTONIC, until);
  }

  /// Wakes up to `count` threads that sleep on `word`.
  static void wake(atomic<std::uint32_t>& word, std::uint32_t count) {
    native_env::futex_wake(word, count);
  }

  /// The same on the low half of a word of 64 bits: what changes in the high half
  /// neither ends a sleep nor keeps one from beginning.
  static void wait_low(atomic<std::uint64_t>& word, std::uint32_t expected) {
    native_env::futex_wait(native_env::low_half(word), expected);
  }
  static void wait_low_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                             std::uint64_t deadline) {
    wait_until(native_env::low_half(word), expected, deadline);
  }
  static void wake_low(atomic<std::uint64_t>& word, std::uint32_t count) {
    native_env::futex_wake(native_env::low_half(word), count);
  }

  /// And on the high half.
  static void wait_high(atomic<std::uint64_t>& word, std::uint32_t expected) {
    native_env::futex_wait(native_env::high_half_futex(word), expected);
  }
  static void wait_high_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                              std::uint64_t deadline) {
    wait_until(native_env::high_half_futex(word), expected, deadline);
  }
  static void wake_high(atomic<std::uint64_t>& word, std::uint32_t count) {
    native_env::futex_wake(native_env::high_half_futex(word), count);
  }

  /// If two threads each write one word and then read the other's, at least one of them reads
  /// the new value, provided that one calls light_barrier() in between and the other
  /// heavy_barrier(). The light one costs next to nothing, the heavy one a system call that
  /// interrupts every CPU on which the process runs.
  static void light_barrier() { native_env::light_barrier(); }
  static void heavy_barrier() { native_env::heavy_barrier(); }

  /// Nanoseconds of a monotonic clock.
  static std::uint64_t now() {
    timespec t;
    native_env::kernel_clock(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec);
  }

  /// The user's value of a tunable for the lock of that name, or its default.
  template <const tunable& What, const char* Lock>
  static std::uint64_t setting() {
    return native_env::setting<What, Lock>();
  }

  /// The same for a lock that is in no registry. Each lock of the registry has an environment
  /// whose value() uses the lock's name.
  template <const tunable& What>
  static std::uint64_t value() {
    return setting<What, nullptr>();
  }

  /// True with a probability of 1 / one_in; never for 0.
  static bool chance(std::uint64_t one_in) {
    return one_in != 0 && random(static_cast<std::uint32_t>(one_in)) == 0;
  }

  /// A decision on which no invariant depends. The model checker tries both.
  static bool advice(bool decision) { return decision; }

  /// A random number from 0 to limit - 1.
  static std::uint32_t random(std::uint32_t limit) { return native_env::random_below(limit); }

  /// Fetches the line of `address` into the caller's cache, for writing.
  static void prefetch(const void* address) { __builtin_prefetch(address, 1); }

  /// The CPU that the caller runs on now.
  static std::uint32_t cpu() { return native_env::current_cpu(); }

  /// The number of CPUs that the process could run on at the first call, or when a library was
  /// loaded that calls it then.
  static std::uint32_t cpus() {
    const std::uint32_t known = native_env::known_cpus.load(std::memory_order_relaxed);
    return known != 0 ? known : native_env::count_cpus();
  }

  /// The number of runnable threads of the machine, the caller among them; 0 if not known. Costs
  /// some system calls.
  static std::uint32_t runnable() { return native_env::runnable(); }

  /// The number that the topology maps to a node: the CPU, or the thread if it is of threads.
  static std::uint32_t where() {
    const std::uint32_t threads = native_env::machine.threads();
    return threads == 0 ? cpu() : self() % threads;
  }

  /// The NUMA node that the caller runs on now, below nodes().
  static std::uint32_t node() { return nodes() == 1 ? 0 : native_env::machine.node_of(where()); }

  /// The number of NUMA nodes; the same at every call.
  static std::uint32_t nodes() { return native_env::machine.nodes(); }

  /// Levels at which the CPUs are divided into groups, each within one of the
  /// next: those that share a cache (0), NUMA nodes (1), packages (2).
  static constexpr std::uint32_t group_levels = native_env::topology::levels;

  /// The number of groups at a level; the same at every call.
  static std::uint32_t groups(std::uint32_t level) { return native_env::machine.groups(level); }

  /// The group at level 0 that the caller runs in now.
  static std::uint32_t group() { return native_env::machine.group_of(where()); }

  /// The group of the next level that contains a group of level 0 or 1.
  static std::uint32_t group_above(std::uint32_t level, std::uint32_t number) {
    return native_env::machine.group_above(level, number);
  }

  /// The number of the calling thread, unique in this process, from 1 to max_self.
  static constexpr std::uint32_t max_self = native_env::max_serial;
  static std::uint32_t self() { return native_env::serial(); }

  /// A number above 0 and below 2^63 that no other call in this process returns.
  static std::uint64_t unique_number() { return native_env::unique_number(); }

  /// The bit that the calling thread last set for a lock, or for another that shares the bit.
  /// Initially false.
  static bool hint(const void* about) { return native_env::hint(about); }
  static void set_hint(const void* about, bool what) { native_env::set_hint(about, what); }

  /// The caller's own T, null when the caller is about to end. It begins with a pointer that T does
  /// not use, and is otherwise zeroed, or as its previous thread left it, if T::is_at_rest().
  template <class T>
  static T* own() {
    static_assert(sizeof(T) <= native_env::node_size && alignof(T) <= 64);
    return static_cast<T*>(native_env::own_piece<T>());
  }

  /// A queue node for one acquisition, with arbitrary content.
  template <class Node>
  static Node* take_node() {
    static_assert(sizeof(Node) <= native_env::node_size && alignof(Node) <= 64);
    return ::new (native_env::take_node()) Node;
  }

  /// Gives a node back that no thread accesses any more; any thread may.
  template <class Node>
  static void give_node(Node* node) {
    native_env::give_node(node);
  }

  /// The one T of this process, made of zeroed memory. The child of a fork has its own, zeroed
  /// unless T::survives_fork.
  template <class T>
  static T& common() {
    return native_env::common<T>();
  }

  /// Zeroed memory, aligned to 64 bytes, for state that does not fit in the lock whose pointer to
  /// it lies at `owner`; null if there is none.
  static void* reserve(std::size_t bytes, const void* owner) {
    return native_env::blocks.reserve(bytes, owner);
  }

  /// Called once the pointer at `owner`, a multiple of 8, is set. From here on the block is
  /// reclaimed once that memory holds something else.
  static void install(void* block, const void* owner) {
    native_env::block_pool::install(block, owner);
  }

  /// True if the block was reserved for `owner`, not for a lock of which that is a copy. `block`
  /// may have been given back since.
  static bool is_reserved_for(const void* block, const void* owner) {
    return native_env::block_pool::is_reserved_for(block, owner);
  }

  static void unreserve(void* block, std::size_t bytes, const void* owner) {
    native_env::blocks.unreserve(block, bytes, owner);
  }

  /// The memory that reserve(bytes) takes.
  static std::size_t reserved_size(std::size_t bytes) {
    return native_env::block_pool::taken_by(bytes);
  }

  /// Draws number `next` if it is both the next one and the one served: both words must hold
  /// `next`, and become {next, next + 1} in one step. `grant` is the low half of an aligned
  /// pair. Acquire pairs with the store of grant in unlock.
  static bool draw_if_served(atomic<std::uint32_t>& grant, atomic<std::uint32_t>& request,
                             std::uint32_t next) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof grant == 4);
    if (reinterpret_cast<char*>(&request) - reinterpret_cast<char*>(&grant) != 4) {
      __builtin_unreachable();
    }
    std::uint64_t seen = std::uint64_t{next} << 32 | next;
    std::uint64_t drawn = std::uint64_t{next + 1} << 32 | next;
    return __atomic_compare_exchange_n(reinterpret_cast<std::uint64_t*>(&grant), &seen, drawn,
                                       false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }

  /// Sets the low byte of `word` from 0 to 1, whatever the other bytes hold, and returns whether it
  /// did. Acquire.
  static bool set_low_byte(atomic<std::uint64_t>& word) {
    std::uint8_t clear = 0;
    return __atomic_compare_exchange_n(native_env::low_byte(word), &clear, std::uint8_t{1}, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }

  /// Clears the low byte of `word` by a store that leaves the other bytes alone. Release. A load
  /// of the word still synchronises with the thread that wrote the other bytes, as processors order
  /// accesses by the byte. ThreadSanitizer has one clock for the word, which a store replaces; a
  /// read-modify-write adds to it.
  static void clear_low_byte(atomic<std::uint64_t>& word) {
    if constexpr (native_env::is_thread_sanitized) {
      word.fetch_and(~std::uint64_t{0xff}, std::memory_order_release);
    } else {
      __atomic_store_n(native_env::low_byte(word), std::uint8_t{0}, __ATOMIC_RELEASE);
    }
  }

  /// The high half of `word`. Relaxed. A load of these bytes alone need not wait until
  /// set_low_byte() is complete, as one of the whole word does on x86-64.
  static std::uint32_t high_half(const atomic<std::uint64_t>& word) {
    return __atomic_load_n(native_env::high_half(word), __ATOMIC_RELAXED);
  }

  /// The second byte from the low end of `word`. Relaxed.
  static std::uint8_t second_byte(const atomic<std::uint64_t>& word) {
    return __atomic_load_n(native_env::second_byte(word), __ATOMIC_RELAXED);
  }

  /// The C library's mutex.
  class libc_mutex {
   public:
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() { pthread_mutex_unlock(&mutex_); }

   private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  };
};

}  // namespace lockwright
