// The shared-memory segment in which a process counts the waits of its contended acquisitions if
// LOCKWRIGHT_METRICS is set. python/lockwright/metrics/segment.py reads it through /proc/PID/mem by
// the layout that `lockwright-layouts` prints.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "interpose/layout.hpp"

namespace lockwright::preload {

/// The waits of the threads of one stripe at one call site. Bucket i counts waits of up to
/// 256 * 4^i ns, the last one all longer ones.
struct wait_counts {
  static constexpr unsigned buckets = 15;
  static constexpr unsigned least_bits = 8;

  std::atomic<std::uint64_t> waited_ns;
  std::atomic<std::uint64_t> waits[buckets];

  static constexpr unsigned bucket_of(std::uint64_t ns) {
    const auto bits = static_cast<unsigned>(std::bit_width(ns - (ns != 0 ? 1 : 0)));
    return bits <= least_bits ? 0 : std::min((bits - least_bits + 1) / 2, buckets - 1);
  }
};
static_assert(sizeof(wait_counts) == 128);
static_assert(wait_counts::bucket_of(256) == 0 && wait_counts::bucket_of(257) == 1);
static_assert(wait_counts::bucket_of(1024) == 1 && wait_counts::bucket_of(1025) == 2);
LOCKWRIGHT_LAYOUT(wait_counts, waited_ns, waits);

/// A hash table of call sites, separate from their counts: the reader touches no other memory, and
/// the kernel provides memory only for the sites in use.
struct metrics_page {
  static constexpr char magic[8] = "LWWAITS";
  static constexpr std::uint32_t sites = 512;
  /// Groups of threads, against contention for the counts.
  static constexpr std::uint32_t stripes = 16;
  static constexpr std::uint32_t probes = 32;

  interpose::layout_stamp stamp;
  std::uint32_t pid;  ///< a process that shares its parent's memory is not counted separately
  std::uint32_t unused;
  std::uint64_t unused_2[5];
  std::atomic<std::uint64_t> callers[sites];  ///< return addresses; the first is that of no site
  wait_counts of[sites][stripes];             ///< the first: sites that found no room
};
static_assert(offsetof(metrics_page, callers) == 64 && offsetof(metrics_page, of) % 64 == 0);
LOCKWRIGHT_LAYOUT(metrics_page, stamp, pid, unused, unused_2, callers, of);

}  // namespace lockwright::preload
