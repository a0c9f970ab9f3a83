#include "interpose/program_clock.hpp"

#include <dlfcn.h>
#include <link.h>

#include <initializer_list>

#include "interpose/objects.hpp"
#include "interpose/real.hpp"
#include "lockwright/env/native/clock.hpp"

namespace lockwright::interpose {
namespace {

constexpr const char* names[] = {"pthread_mutex_timedlock",
                                 "pthread_mutex_clocklock",
                                 "pthread_cond_timedwait",
                                 "pthread_cond_clockwait",
                                 "sem_timedwait",
                                 "sem_clockwait",
                                 "pthread_rwlock_timedrdlock",
                                 "pthread_rwlock_clockrdlock",
                                 "pthread_rwlock_timedwrlock",
                                 "pthread_rwlock_clockwrlock",
                                 "mtx_timedlock",
                                 "cnd_timedwait"};
static_assert(sizeof names / sizeof *names == static_cast<unsigned>(timed::end));

/// Returns true if the dynamic linker searches `one` before `other`.
bool comes_before(const link_map* one, const link_map* other) {
  for (const link_map* each = one->l_next; each != nullptr; each = each->l_next) {
    if (each == other) {
      return true;
    }
  }
  return false;
}

/// Returns true for a sanitizer, whose clock_gettime checks the write and calls the C library's.
bool is_sanitizer(const link_map* object) {
  for (const char* each : {"__tsan_init", "__asan_init", "__ubsan_handle_add_overflow"}) {
    void* found = dlsym(RTLD_DEFAULT, each);
    if (found != nullptr && object_of(found) == object) {
      return true;
    }
  }
  return false;
}

/// Returns a handle of a loaded object, to look names up in it and its dependencies.
void* handle_of(const link_map* object) {
  return real.dlopen(object->l_name[0] == '\0' ? nullptr : object->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

void find_kernel_clock() {
  link_map* library = c_library();
  void* handle = library == nullptr ? nullptr : handle_of(library);
  if (void* found = handle == nullptr ? nullptr : dlsym(handle, "clock_gettime")) {
    native_env::kernel_clock = reinterpret_cast<native_env::clock_function*>(found);
  }
}

void find_program_clock() {
  link_map* library = c_library();
  link_map* provider = object_of(dlsym(RTLD_DEFAULT, "clock_gettime"));
  if (library == nullptr || provider == nullptr || provider == library || is_sanitizer(provider)) {
    return;
  }
  void* library_handle = handle_of(library);
  void* provider_handle = handle_of(provider);
  if (library_handle == nullptr || provider_handle == nullptr) {
    return;
  }
  find_kernel_clock();
  // A deadline that is left to the C library must not be converted again.
  find_real_functions(library_handle);
  const bool is_first = comes_before(provider, object_of(&by_program_clock));
  for (unsigned i = 0; i < static_cast<unsigned>(timed::end); ++i) {
    void* found = is_first ? dlsym(provider_handle, names[i]) : nullptr;
    if (found == nullptr || object_of(found) != provider) {
      by_program_clock |= std::uint32_t{1} << i;
    }
  }
}

}  // namespace lockwright::interpose
