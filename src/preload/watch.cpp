#include "preload/watch.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "preload/fork.hpp"
#include "preload/metrics.hpp"
#include "preload/rwlock_kind.hpp"

// Defined by the linker: the first byte of this library in memory.
extern "C" [[gnu::visibility("hidden")]] const ElfW(Ehdr) __ehdr_start;

namespace lockwright::preload {

using interpose::find_thread_number;
using interpose::real;

namespace {

/// Hides this library's variables, whose sharing between threads a race detector would report.
void hide_variables() {
  const char* base = reinterpret_cast<const char*>(&__ehdr_start);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_W) != 0) {
      valgrind::hide(base + segments[i].p_vaddr, segments[i].p_memsz);
    }
  }
}

}  // namespace

// Relaxed: threads that race here find and store the same.
bool detect_race_detector() {
  find_thread_number();
  const bool tool = valgrind::is_running();
  if (tool) {
    hide_variables();
  }
  watched_by.store(tool ? watcher::tool : watcher::none, std::memory_order_relaxed);
  rearm_fast_path();
  return tool;
}

bool is_called_by_tool(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "/vgpreload_") != nullptr;
}

int init_for_tool(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  return real.mutex_init(mutex, &attributes);
}

void rearm_fast_path() {
  if (watched_by.load(std::memory_order_relaxed) == watcher::none && find_thread_number()) {
    if (fast_path_generation.load(std::memory_order_relaxed) != all_are_kept) {
      fast_path_generation.store(generation >> rwlock_mode_shift, std::memory_order_release);
    }
    fast_path_kind.store(generation, std::memory_order_release);
    one_step_fast_path_kind.store(measures_waits() ? never_set : generation,
                                  std::memory_order_release);
  }
}

}  // namespace lockwright::preload
