// The library's constructor: checks that its functions are the ones in use, and registers for
// forks.
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>

#include "interpose/choice.hpp"
#include "interpose/deep_binding.hpp"
#include "interpose/export.hpp"
#include "interpose/program_clock.hpp"
#include "interpose/real.hpp"
#include "interpose/sandbox.hpp"
#include "lockwright/env/native.hpp"
#include "preload/append.hpp"
#include "preload/counting.hpp"
#include "preload/first_use.hpp"
#include "preload/fork.hpp"
#include "preload/metrics.hpp"
#include "preload/rwlock_choice.hpp"
#include "preload/watch.hpp"

const bool lockwright::interpose::replaces_objects = true;

namespace {

struct replaced_name {
  const char* name;
  const char* version;
};

/// The names that a program built today binds to. The other versions of the same names are in the
/// same library, so they resolve alike.
constexpr replaced_name replaced_names[] = {
    {"pthread_mutex_init", BASE_VERSION},
    {"pthread_mutex_destroy", BASE_VERSION},
    {"pthread_mutex_lock", BASE_VERSION},
    {"pthread_mutex_trylock", "GLIBC_2.34"},
    {"pthread_mutex_unlock", BASE_VERSION},
    {"pthread_mutex_timedlock", "GLIBC_2.34"},
    {"pthread_mutex_clocklock", "GLIBC_2.34"},
    {"pthread_cond_init", COND_VERSION},
    {"pthread_cond_destroy", COND_VERSION},
    {"pthread_cond_wait", COND_VERSION},
    {"pthread_cond_timedwait", COND_VERSION},
    {"pthread_cond_signal", COND_VERSION},
    {"pthread_cond_broadcast", COND_VERSION},
    {"pthread_cond_clockwait", "GLIBC_2.34"},
    {"sem_wait", "GLIBC_2.34"},
    {"sem_post", "GLIBC_2.34"},
    {"pthread_rwlock_init", "GLIBC_2.34"},
    {"pthread_rwlock_rdlock", "GLIBC_2.34"},
    {"pthread_rwlock_wrlock", "GLIBC_2.34"},
    {"pthread_rwlock_unlock", "GLIBC_2.34"},
    {"pthread_spin_init", "GLIBC_2.34"},
    {"pthread_spin_lock", "GLIBC_2.34"},
    {"pthread_spin_unlock", "GLIBC_2.34"},
    {"mtx_lock", "GLIBC_2.34"},
    {"mtx_unlock", "GLIBC_2.34"},
    {"cnd_wait", "GLIBC_2.34"},
    {"cnd_signal", "GLIBC_2.34"},
};

/// Returns the object that contains `address`; null if there is none.
const void* object_of(const void* address, const char** path) {
  Dl_info info;
  if (dladdr(address, &info) == 0) {
    return nullptr;
  }
  *path = info.dli_fname;
  return info.dli_fbase;
}

/// Returns the object of a sanitizer, which forwards each call to the next library; null if the
/// program is not built with it.
const void* sanitizer_object(const char* first_function) {
  const char* path = nullptr;
  const void* begin = dlsym(RTLD_DEFAULT, first_function);
  return begin == nullptr ? nullptr : object_of(begin, &path);
}

/// Warns if another library provides some of the API, which would silently lose mutual exclusion.
void warn_of_unresolved_names() {
  const char* own_path = nullptr;
  const void* own_object = object_of(&replaced_names, &own_path);
  const void* thread_sanitizer = sanitizer_object("__tsan_init");
  // No program has both.
  const void* forwarder =
      thread_sanitizer != nullptr ? thread_sanitizer : sanitizer_object("__asan_init");
  std::uint64_t unresolved = 0;
  for (const replaced_name& each : replaced_names) {
    // With the version, and without, for a library whose symbols have none.
    for (const void* found :
         {dlvsym(RTLD_DEFAULT, each.name, each.version), dlsym(RTLD_DEFAULT, each.name)}) {
      const char* path = "nowhere";
      const void* object = found == nullptr ? nullptr : object_of(found, &path);
      if (object == own_object || (object != nullptr && object == forwarder)) {
        continue;
      }
      if (unresolved++ == 0) {
        lockwright::native_env::complain(each.name, " resolves to ", path,
                                         ", not to this library; no lock is swapped reliably "
                                         "while both are loaded");
      }
      break;
    }
  }
  lockwright::preload::count_unresolved(unresolved);
  const char* path = nullptr;
  if (thread_sanitizer != nullptr &&
      object_of(dlsym(RTLD_DEFAULT, "pthread_mutex_lock"), &path) != thread_sanitizer) {
    lockwright::native_env::complain(
        "ThreadSanitizer sees no mutex while this library comes "
        "first; name its own, libtsan, before it in LD_PRELOAD");
  }
}

/// Reads the environment and looks the C library's functions up, unless a thread has already done
/// so: a signal handler may be the first to post a semaphore, and a sandbox may begin at any moment.
[[gnu::constructor]] void start() {
  if (lockwright::native_env::is_filtered()) {
    lockwright::interpose::prepare_for_filter();
  }
  lockwright::native::cpus();
  lockwright::native_env::register_caller();
  lockwright::preload::find_nodes();
  lockwright::interpose::find_program_clock();
  lockwright::preload::detect_race_detector();
  lockwright::preload::begin_metrics();
  lockwright::preload::count_process();
  lockwright::preload::append_to_condvar.is_set();
  lockwright::preload::append_to_semaphore.is_set();
  lockwright::interpose::rwlocks.get(lockwright::preload::default_rwlock);
  lockwright::interpose::spins.get();
  warn_of_unresolved_names();
  lockwright::preload::follow_forks();
}

}  // namespace

namespace lockwright::interpose {

void prepare_for_filter() {
  native_env::settle_barriers();
  native_env::machine.groups(0);  // reads the nodes too
  preload::use_locks();
}

long follow_futex(std::uint64_t /*caller*/, const long (&arguments)[6]) {
  return real.syscall(SYS_futex, arguments[0], arguments[1], arguments[2], arguments[3],
                      arguments[4], arguments[5]);
}

void leave_counter() { native_env::kernel_clock = &native_env::clock_without_counter; }

}  // namespace lockwright::interpose
