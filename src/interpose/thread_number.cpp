#include "interpose/thread_number.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include "interpose/real.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::interpose {
namespace {

/// The calling thread's number by gettid(), if no offset is found; 0 until the first call.
constinit thread_local std::uint32_t number_by_kernel = 0;

/// The C library's description of a field in its structures, for debuggers (nptl_db).
struct field {
  std::uint32_t bits;
  std::uint32_t elements;
  std::uint32_t offset;
};

// The thread control block is smaller in all known C libraries; a larger offset is rejected.
constexpr std::uint32_t least_page = 4096;

/// Returns the owner that the C library's mutex records while the caller holds it.
std::uint32_t owner_by_library() {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  real.mutex_lock(&mutex);
  const auto owner = static_cast<std::uint32_t>(mutex.__data.__owner);
  real.mutex_unlock(&mutex);
  return owner;
}

/// Returns the offset that the C library describes to debuggers, if the number there is what it
/// records as a mutex's owner.
std::ptrdiff_t look_for_number() {
  const auto* where =
      static_cast<const field*>(dlvsym(RTLD_NEXT, "_thread_db_pthread_tid", "GLIBC_PRIVATE"));
  if (where == nullptr || where->bits != 32 || where->offset % 4 != 0 ||
      where->offset >= least_page) {
    return number_not_found;
  }
  // pthread_self() is the address of the control block: at the thread pointer, or below it.
#if defined(__x86_64__)
  const char* base = nullptr;
  asm("movq %%fs:0, %0" : "=r"(base));
#else
  const auto* base = static_cast<const char*>(__builtin_thread_pointer());
#endif
  const auto* block = reinterpret_cast<const char*>(pthread_self());
  const std::ptrdiff_t offset = block + where->offset - base;
  return number_at(offset) == owner_by_library() ? offset : number_not_found;
}

}  // namespace

bool find_thread_number() {
  std::ptrdiff_t offset = number_offset.load(std::memory_order_relaxed);
  if (offset == number_not_looked_for) {
    offset = look_for_number();
    number_offset.store(offset, std::memory_order_relaxed);
  }
  return is_number_offset(offset);
}

std::uint32_t ask_thread_number() {
  if (find_thread_number()) {
    return found_thread_number();
  }
  if (number_by_kernel == 0) {
    number_by_kernel = static_cast<std::uint32_t>(native_env::system_call(SYS_gettid));
  }
  return number_by_kernel;
}

void forget_thread_number() { number_by_kernel = 0; }

}  // namespace lockwright::interpose
