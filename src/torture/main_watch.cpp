#include "main_watch.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "clock.hpp"
#include "guarded.hpp"
#include "phase_run.hpp"
#include "report.hpp"

namespace torture {
namespace {

std::atomic<const char*> doing{"starts"};
std::atomic<std::uint64_t> progress{0};
std::uint64_t most_ticks = 0;

void* watch_it(void*) {
  std::uint64_t seen = progress.load();
  for (std::uint64_t ticks = 0; ticks < most_ticks; ++ticks) {
    sleep_ns(phase_run::tick_ns);
    if (const std::uint64_t latest = progress.load(); latest != seen) {
      seen = latest;
      ticks = 0;
    }
  }
  char waited[40];
  std::snprintf(waited, sizeof waited, "%.1f s",
                static_cast<double>(most_ticks * phase_run::tick_ns) / 1e9);
  fail("progress",
       "the main thread makes no progress: it " + std::string(doing.load()) + ", for " + waited);
}

}  // namespace

void main_thread(const char* does) {
  doing.store(does, std::memory_order_relaxed);
  progress.fetch_add(1);
}

void watch_main_thread(double patience) {
  most_ticks = static_cast<std::uint64_t>(patience * 1e9 / double{phase_run::tick_ns});
  // Signals that disturb the process are for its other threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  must(pthread_create(&thread, nullptr, watch_it, nullptr), "pthread_create");
  must(pthread_detach(thread), "pthread_detach");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace torture
