// The caller's CPU and its NUMA node: as the kernel reports, or as LOCKWRIGHT_TOPOLOGY declares.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/file.hpp"
#include "lockwright/env/native/sandbox.hpp"
#include "lockwright/env/native/settings.hpp"

namespace lockwright::native_env {

/// The map from CPU to NUMA node, and the caches below and packages above the nodes, each
/// read once.
///
/// LOCKWRIGHT_TOPOLOGY is a list of CPU lists separated by ';', one per node:
/// "0-7,16-23;8-15,24-31". CPUs that it does not name belong to the first node.
/// A node can be divided by '|' into groups that share a cache, and '/' instead of ';'
/// begins another package: "0,1|2,3;4,5|6,7/8,9|10,11;12,13|14,15".
/// After "threads:" the numbers are those of threads instead, to test with more nodes than
/// CPUs: "threads:0;1;2;3" assigns the threads to four nodes in rotation.
///
///   level | its groups, each within one of the next level
///   0     | the CPUs that share a last-level cache
///   1     | the NUMA nodes
///   2     | the packages
class topology {
 public:
  static constexpr std::uint32_t max_nodes = 64;
  static constexpr std::uint32_t max_caches = 1024;
  static constexpr std::uint32_t max_cpus = 8192;
  static constexpr std::uint32_t levels = 3;

  std::uint32_t nodes() {
    read_once();
    return nodes_;
  }

  std::uint32_t node_of(std::uint32_t cpu) {
    read_once();
    return cpu < max_cpus ? node_of_[cpu] : 0;
  }

  /// The number of threads that a declaration assigns, after which it repeats; 0 if it assigns
  /// CPUs.
  std::uint32_t threads() {
    read_once();
    return threads_;
  }

  /// The number of groups at a level.
  std::uint32_t groups(std::uint32_t level) {
    read_groups_once();
    return level == 0 ? caches_ : level == 1 ? nodes_ : packages_;
  }

  /// The level 0 group of a CPU.
  std::uint32_t group_of(std::uint32_t cpu) {
    read_groups_once();
    return cpu < max_cpus ? cache_of_[cpu] : 0;
  }

  /// The group of the next level that contains a group of level 0 or 1.
  std::uint32_t group_above(std::uint32_t level, std::uint32_t group) {
    read_groups_once();
    return level == 0 ? node_of_cache_[group] : package_of_node_[group];
  }

  /// Replaces the map by a declared one; false, and no change, if it is malformed.
  bool declare(const char* text) {
    const char* numbers = after(text, "threads:");
    const bool of_threads = numbers != nullptr;
    text = of_threads ? numbers : text;
    position end{};
    std::uint32_t count = 0;
    if (!each_position(text, end, [&count](std::uint32_t number, const position&) {
          count = number < count ? count : number + 1;
        })) {
      return false;
    }
    threads_ = of_threads ? count : 0;
    for (std::uint32_t cpu = 0; cpu < max_cpus; ++cpu) {
      node_of_[cpu] = 0;
      cache_of_[cpu] = 0;
    }
    each_position(text, end, [this](std::uint32_t cpu, const position& where) {
      node_of_[cpu] = static_cast<std::uint8_t>(where.node);
      cache_of_[cpu] = static_cast<std::uint16_t>(where.cache);
      node_of_cache_[where.cache] = static_cast<std::uint8_t>(where.node);
      package_of_node_[where.node] = static_cast<std::uint8_t>(where.package);
    });
    caches_ = end.cache + 1;
    nodes_ = end.node + 1;
    packages_ = end.package + 1;
    groups_state_.store(ready, std::memory_order_release);
    state_.store(ready, std::memory_order_release);
    return true;
  }

 private:
  /// Any other value is the number of the process that reads.
  enum : std::uint32_t { unread = 0, ready = ~std::uint32_t{0} };

  /// The rest of `text` after `start`; null if it begins otherwise.
  static const char* after(const char* text, const char* start) {
    for (; *start != '\0'; ++text, ++start) {
      if (*text != *start) {
        return nullptr;
      }
    }
    return text;
  }

  struct position {
    std::uint32_t cache;
    std::uint32_t node;
    std::uint32_t package;
  };

  /// Calls `use` with each CPU of a declaration and its position; `end` is the last
  /// position. False if the text is malformed.
  template <class Use>
  static bool each_position(const char* at, position& end, Use use) {
    end = {};
    for (;; ++at) {
      if (!each_cpu(at, [&](std::uint32_t cpu) { use(cpu, end); })) {
        return false;
      }
      if (*at == '\0') {
        return true;
      }
      if (*at != '|' && *at != ';' && *at != '/') {
        return false;
      }
      ++end.cache;
      end.node += *at != '|' ? 1 : 0;
      end.package += *at == '/' ? 1 : 0;
      if (end.cache == max_caches || end.node == max_nodes) {
        return false;
      }
    }
  }

  void read_once() {
    if (state_.load(std::memory_order_acquire) == ready) [[likely]] {
      return;
    }
    read();
  }

  /// True for the one thread that is to read; the others return once it has. The child of a
  /// fork may find that a thread of its parent is reading, and then reads itself.
  static bool begin_to_read(std::atomic<std::uint32_t>& state) {
    const std::uint32_t process = process_number() | std::uint32_t{1} << 31;
    for (;;) {
      std::uint32_t seen = unread;
      // Acquire, of a failure too, pairs with the release of `ready`, which publishes the map.
      if (state.compare_exchange_strong(seen, process, std::memory_order_acquire)) {
        return true;
      }
      if (seen == ready) {
        return false;
      }
      if (seen == process) {
        yield();
      } else {
        state.compare_exchange_strong(seen, unread, std::memory_order_relaxed);
      }
    }
  }

  [[gnu::noinline]] void read() {
    if (!begin_to_read(state_)) {
      return;
    }
    const char* declared = environment_variable("LOCKWRIGHT_TOPOLOGY");
    if (declared != nullptr && *declared != '\0') {
      if (declare(declared)) {
        return;
      }
      complain("LOCKWRIGHT_TOPOLOGY='", declared,
               "' is not a list of CPU lists such as '0-3;4-7' or, with caches and packages, "
               "'0,1|2,3/4,5|6,7'; the kernel's topology is used");
    }
    read_kernel();
    state_.store(ready, std::memory_order_release);
  }

  /// /sys/devices/system/node/nodeN/cpulist, N from 0 up to the first gap of 8.
  void read_kernel() {
    std::uint32_t found = 0;
    for (std::uint32_t number = 0, misses = 0; misses < 8 && found < max_nodes; ++number) {
      char list[4096];
      if (!read_cpulist(number, list, sizeof list)) {
        ++misses;
        continue;
      }
      const char* at = list;
      each_cpu(at, [&](std::uint32_t cpu) { node_of_[cpu] = static_cast<std::uint8_t>(found); });
      ++found;
    }
    nodes_ = found == 0 ? 1 : found;
  }

  void read_groups_once() {
    read_once();  // a declaration gives the groups too
    if (groups_state_.load(std::memory_order_acquire) == ready) [[likely]] {
      return;
    }
    read_groups();
  }

  [[gnu::noinline]] void read_groups() {
    if (!begin_to_read(groups_state_)) {
      return;
    }
    // Each node begins with one group, for the CPUs of which the kernel reports no cache.
    caches_ = nodes_;
    packages_ = 1;
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      node_of_cache_[node] = static_cast<std::uint8_t>(node);
    }
    for (std::uint32_t cpu = 0; cpu < max_cpus; ++cpu) {
      cache_of_[cpu] = node_of_[cpu];
    }
    char list[4096];
    const char* at = list;
    if (read_text(list, sizeof list, {"/sys/devices/system/cpu/possible"})) {
      each_cpu(at, [this](std::uint32_t cpu) { read_groups_of(cpu); });
    }
    if (packages_ > nodes_) {
      // Packages within a node are not a level above it.
      packages_ = 1;
      for (auto& package : package_of_node_) {
        package = 0;
      }
    }
    groups_state_.store(ready, std::memory_order_release);
  }

  /// Adds a CPU to its groups, and creates them if it is the first of its cache or node.
  void read_groups_of(std::uint32_t cpu) {
    constexpr const char* cpus = "/sys/devices/system/cpu/cpu";
    const std::uint32_t node = node_of_[cpu];
    char list[4096];
    const auto lowest_in = [&list] {
      const char* at = list;
      std::uint32_t lowest = max_cpus;
      each_cpu(at, [&lowest](std::uint32_t other) { lowest = other < lowest ? other : lowest; });
      return lowest;
    };
    if (read_text(list, sizeof list, {cpus, digits{cpu}.text(), "/topology/package_cpus_list"})) {
      const std::uint32_t lowest = lowest_in();
      if (lowest == cpu) {
        package_of_node_[node] = static_cast<std::uint8_t>(cpu == 0 ? 0 : packages_++);
      } else if (lowest < cpu) {
        package_of_node_[node] = package_of_node_[node_of_[lowest]];
      }
    }
    bool found = false;
    for (const char* last : {"/cache/index4", "/cache/index3", "/cache/index2"}) {
      found = found ||
              read_text(list, sizeof list, {cpus, digits{cpu}.text(), last, "/shared_cpu_list"});
    }
    if (!found) {
      return;
    }
    // The first CPU of this node that shares the cache represents the others.
    const char* at = list;
    std::uint32_t first = max_cpus;
    bool all_of_node = true;
    each_cpu(at, [&](std::uint32_t other) {
      first = node_of_[other] == node && other < first ? other : first;
    });
    for (std::uint32_t other = 0; other < cpu; ++other) {
      all_of_node = all_of_node && node_of_[other] != node;
    }
    if (first != cpu) {
      cache_of_[cpu] = cache_of_[first < max_cpus ? first : cpu];
    } else if (!all_of_node && caches_ < max_caches) {
      // The first CPU of a node keeps the group that the node began with.
      node_of_cache_[caches_] = static_cast<std::uint8_t>(node);
      cache_of_[cpu] = static_cast<std::uint16_t>(caches_++);
    }
  }

  static bool read_cpulist(std::uint32_t number, char* list, std::size_t size) {
    return read_text(list, size,
                     {"/sys/devices/system/node/node", digits{number}.text(), "/cpulist"});
  }

  static bool number(const char*& at, std::uint32_t& value) {
    if (*at < '0' || *at > '9') {
      return false;
    }
    value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) {
      value = value * 10 + static_cast<std::uint32_t>(*at - '0');
      if (value >= max_cpus) {
        return false;
      }
    }
    return true;
  }

  /// Parses a CPU list ("0-3,8") and calls `use` with each CPU; false if malformed.
  template <class Use>
  static bool each_cpu(const char*& at, Use use) {
    for (;;) {
      std::uint32_t first = 0;
      if (!number(at, first)) {
        return false;
      }
      std::uint32_t last = first;
      if (*at == '-' && (!number(++at, last) || last < first)) {
        return false;
      }
      for (std::uint32_t cpu = first; cpu <= last; ++cpu) {
        use(cpu);
      }
      if (*at != ',') {
        return true;
      }
      ++at;
    }
  }

  std::atomic<std::uint32_t> state_{unread};
  std::atomic<std::uint32_t> groups_state_{unread};
  // All zero until read, so that its pages take no memory before that.
  std::uint32_t caches_ = 0;
  std::uint32_t nodes_ = 0;
  std::uint32_t packages_ = 0;
  std::uint32_t threads_ = 0;
  std::uint8_t node_of_[max_cpus] = {};
  std::uint16_t cache_of_[max_cpus] = {};
  std::uint8_t node_of_cache_[max_caches] = {};
  std::uint8_t package_of_node_[max_nodes] = {};
};

// src/preload/layout.ld sets its position.
[[gnu::section(".bss.seldom_used.machine")]] inline constinit topology machine;

}  // namespace lockwright::native_env

/// The offset of this thread's rseq area from the thread pointer (glibc 2.35 on); null in an
/// older C library.
extern "C" {
extern const std::ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
}

namespace lockwright::native_env {

/// Calls the vDSO. Out of line, so that no call through a pointer is on a lock's fast path.
[[gnu::noinline]] inline std::uint32_t cpu_by_call() {
  const int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

/// The CPU that the caller runs on: from the rseq area, which costs one load, or by a call.
inline std::uint32_t current_cpu() {
  if (&__rseq_offset != nullptr && __rseq_size != 0) {
    // struct rseq: cpu_id is the second word.
    const auto* area = static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset;
    auto cpu = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(area + 4), __ATOMIC_RELAXED);
    if (static_cast<std::int32_t>(cpu) >= 0) [[likely]] {
      return cpu;
    }
  }
  return cpu_by_call();
}

/// How many CPUs there are for the process; 0 until first used, or until the library is loaded.
inline constinit std::atomic<std::uint32_t> known_cpus{0};

[[gnu::noinline]] inline std::uint32_t count_cpus() {
  unsigned long set[topology::max_cpus / (8 * sizeof(unsigned long))] = {};
  std::uint32_t count = 0;
  if (!unless_filtered([&set, &count] {
        const long bytes =
            system_call(SYS_sched_getaffinity, 0, static_cast<long>(sizeof set), argument(set));
        for (long i = 0; i < bytes / static_cast<long>(sizeof *set); ++i) {
          count += static_cast<std::uint32_t>(__builtin_popcountl(set[i]));
        }
      })) {
    // A mask in hexadecimal digits, with commas.
    each_of_status("Cpus_allowed:", [&count](char c) {
      const auto digit = static_cast<unsigned>(c >= 'a' ? c - 'a' + 10 : c - '0');
      count += digit < 16 ? static_cast<std::uint32_t>(__builtin_popcount(digit)) : 0;
    });
  }
  count = count == 0 ? 1 : count;
  known_cpus.store(count, std::memory_order_relaxed);
  return count;
}

}  // namespace lockwright::native_env
