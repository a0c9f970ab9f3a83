// Which CPU the caller runs on, and which NUMA node that CPU belongs to: as the
// kernel says, or as LOCKWRIGHT_TOPOLOGY declares.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

/// The map from CPU to NUMA node, read once.
///
/// LOCKWRIGHT_TOPOLOGY is a list of CPU lists separated by ';', one per node:
/// "0-7,16-23;8-15,24-31". CPUs that it does not name belong to the first node.
class topology {
 public:
  static constexpr std::uint32_t most_nodes = 64;
  static constexpr std::uint32_t most_cpus = 8192;

  std::uint32_t nodes() {
    read_once();
    return nodes_;
  }

  std::uint32_t node_of(std::uint32_t cpu) {
    read_once();
    return cpu < most_cpus ? node_of_[cpu] : 0;
  }

  /// Replaces the map by a declared one; false, and no change, if it is malformed.
  bool declare(const char* text) {
    std::uint32_t node = 0;
    for (const char* at = text;; ++at, ++node) {
      if (node == most_nodes || !check_list(at) || (*at != '\0' && *at != ';')) {
        return false;
      }
      if (*at == '\0') {
        break;
      }
    }
    for (auto& entry : node_of_) {
      entry = 0;
    }
    nodes_ = node + 1;
    node = 0;
    for (const char* at = text; node < nodes_; ++at, ++node) {
      each_cpu(at, [&](std::uint32_t cpu) { node_of_[cpu] = static_cast<std::uint8_t>(node); });
    }
    state_.store(ready, std::memory_order_release);
    return true;
  }

 private:
  enum : std::uint32_t { unread, reading, ready };

  void read_once() {
    if (state_.load(std::memory_order_acquire) == ready) [[likely]] {
      return;
    }
    read();
  }

  [[gnu::noinline]] void read() {
    std::uint32_t seen = unread;
    if (!state_.compare_exchange_strong(seen, reading, std::memory_order_acquire)) {
      while (state_.load(std::memory_order_acquire) != ready) {
        system_call(SYS_sched_yield);
      }
      return;
    }
    const char* declared = getenv("LOCKWRIGHT_TOPOLOGY");
    if (declared != nullptr && *declared != '\0') {
      if (declare(declared)) {
        return;
      }
      complain("LOCKWRIGHT_TOPOLOGY='", declared,
               "' is not a list of CPU lists such as '0-3;4-7'; the kernel's topology is used");
    }
    read_kernel();
    state_.store(ready, std::memory_order_release);
  }

  /// /sys/devices/system/node/nodeN/cpulist, N from 0 up to the first gap of 8.
  void read_kernel() {
    std::uint32_t found = 0;
    for (std::uint32_t number = 0, misses = 0; misses < 8 && found < most_nodes; ++number) {
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

  static bool read_cpulist(std::uint32_t number, char* list, std::size_t room) {
    char path[64] = "/sys/devices/system/node/node";
    std::size_t end = length_of(path);
    char digits[12];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count != 0) {
      path[end++] = digits[--count];
    }
    for (const char* tail = "/cpulist"; *tail != '\0'; ++tail) {
      path[end++] = *tail;
    }
    path[end] = '\0';
    long file = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return false;
    }
    long got = system_call(SYS_read, file, argument(list), static_cast<long>(room - 1));
    system_call(SYS_close, file);
    if (got <= 0) {
      return false;
    }
    list[got] = '\0';
    return true;
  }

  static bool number(const char*& at, std::uint32_t& value) {
    if (*at < '0' || *at > '9') {
      return false;
    }
    value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) {
      value = value * 10 + static_cast<std::uint32_t>(*at - '0');
      if (value >= most_cpus) {
        return false;
      }
    }
    return true;
  }

  /// Steps over a CPU list ("0-3,8") and tells `use` each CPU of it; false if malformed.
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

  static bool check_list(const char*& at) {
    return each_cpu(at, [](std::uint32_t) {});
  }

  std::atomic<std::uint32_t> state_{unread};
  std::uint32_t nodes_ = 1;
  std::uint8_t node_of_[most_cpus] = {};
};

inline constinit topology machine;

}  // namespace lockwright::native_env

/// Where the C library registered this thread's rseq area, from the thread
/// pointer (glibc 2.35 on); null in an older one.
extern "C" {
extern const std::ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
}

namespace lockwright::native_env {

/// The CPU the caller runs on: from the rseq area, which costs one load, or
/// else from the vDSO.
inline std::uint32_t current_cpu() {
  if (&__rseq_offset != nullptr && __rseq_size != 0) {
    // struct rseq: cpu_id is the second word.
    const auto* area = static_cast<const char*>(__builtin_thread_pointer()) + __rseq_offset;
    auto cpu = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(area + 4), __ATOMIC_RELAXED);
    if (static_cast<std::int32_t>(cpu) >= 0) [[likely]] {
      return cpu;
    }
  }
  int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

/// How many CPUs there are for the process; 0 until asked for.
inline constinit std::atomic<std::uint32_t> known_cpus{0};

[[gnu::noinline]] inline std::uint32_t ask_cpus() {
  unsigned long set[topology::most_cpus / (8 * sizeof(unsigned long))];
  const long bytes =
      system_call(SYS_sched_getaffinity, 0, static_cast<long>(sizeof set), argument(set));
  std::uint32_t count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof *set); ++i) {
    count += static_cast<std::uint32_t>(__builtin_popcountl(set[i]));
  }
  count = count == 0 ? 1 : count;
  known_cpus.store(count, std::memory_order_relaxed);
  return count;
}

}  // namespace lockwright::native_env
