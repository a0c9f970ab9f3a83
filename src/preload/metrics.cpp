#include "preload/metrics.hpp"

#include <linux/memfd.h>

#include <cstring>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/file.hpp"
#include "lockwright/env/native/sandbox.hpp"
#include "preload/watch.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace lockwright::preload {
namespace {

using native_env::argument;
using native_env::system_call;

/// Returns a new segment, which the kernel removes with its process; null if there is no room. It
/// has no path, so no other user can open it, and it stays mapped if the program changes its user.
metrics_page* new_page() {
  const char* name = "lockwright-metrics";
  long file = system_call(SYS_memfd_create, argument(name), MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (file < 0) {  // before Linux 6.3
    file = system_call(SYS_memfd_create, argument(name), MFD_CLOEXEC);
  }
  if (file < 0) {
    return nullptr;
  }
  system_call(SYS_fchmod, file, 0600);
  system_call(SYS_ftruncate, file, static_cast<long>(sizeof(metrics_page)));
  auto* page = static_cast<metrics_page*>(native_env::map_shared(file, sizeof(metrics_page)));
  if (page != nullptr) {
    std::memcpy(page->stamp.magic, metrics_page::magic, sizeof metrics_page::magic);
    page->stamp.number = interpose::layout_number<metrics_page>();
    page->pid = native_env::process_number();
  }
  return page;
}

/// Returns the number of a caller; 0 if there is no room.
std::uint32_t site_of(metrics_page& page, std::uint64_t caller) {
  const std::uint64_t hash = (caller * 0x9e3779b97f4a7c15) >> 32;
  for (std::uint32_t probe = 0; probe < metrics_page::probes; ++probe) {
    const auto number = static_cast<std::uint32_t>((hash + probe) % metrics_page::sites);
    if (number == 0) {
      continue;
    }
    std::atomic<std::uint64_t>& entry = page.callers[number];
    std::uint64_t present = entry.load(std::memory_order_relaxed);
    if (present == 0 && entry.compare_exchange_strong(present, caller, std::memory_order_relaxed)) {
      return number;
    }
    if (present == caller) {
      return number;
    }
  }
  return 0;
}

}  // namespace

void begin_metrics() {
  const char* wanted = native_env::environment_variable("LOCKWRIGHT_METRICS");
  if (wanted != nullptr && *wanted != '\0') {
    metrics.store(new_page(), std::memory_order_relaxed);
    rearm_fast_path();
  }
}

void renew_metrics() {
  if (metrics_page* inherited = metrics.exchange(nullptr, std::memory_order_relaxed)) {
    native_env::unless_filtered([inherited] {
      metrics.store(new_page(), std::memory_order_relaxed);
      system_call(SYS_munmap, argument(inherited), static_cast<long>(sizeof(metrics_page)));
    });
  }
}

void add_wait(std::uint64_t caller, std::uint64_t ns) {
  metrics_page* page = metrics.load(std::memory_order_relaxed);
  if (page == nullptr) {  // a signal handler forked during the wait, and the child got no segment
    return;
  }
  wait_counts& counts = page->of[site_of(*page, caller)][native::self() % metrics_page::stripes];
  counts.waits[wait_counts::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
  counts.waited_ns.fetch_add(ns, std::memory_order_relaxed);
}

}  // namespace lockwright::preload
