// Calls that are only counted: of spin locks and for memory mappings.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "probe/state.hpp"

namespace {

using lockwright::interpose::real;
using lockwright::native_env::argument;
using lockwright::native_env::system_call;
using namespace lockwright::probe;

long with_errno(long result) {
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

}  // namespace

extern "C" {

int lockwright_spin_lock(pthread_spinlock_t* lock) noexcept {
  ++slot_for_call().spin_calls;
  return real.spin_lock(lock);
}

void* lockwright_mmap(void* address, std::size_t length, int protection, int flags, int file,
                      off_t offset) noexcept {
  ++this_slot->mmap_calls;
  return reinterpret_cast<void*>(with_errno(system_call(
      SYS_mmap, argument(address), static_cast<long>(length), protection, flags, file, offset)));
}

int lockwright_munmap(void* address, std::size_t length) noexcept {
  ++this_slot->mmap_calls;
  return static_cast<int>(
      with_errno(system_call(SYS_munmap, argument(address), static_cast<long>(length))));
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_spin_lock, "pthread_spin_lock", "GLIBC_2.34");
VERSIONED_DEFAULT(lockwright_mmap, "mmap", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_munmap, "munmap", BASE_VERSION);
// The name in programs with 64-bit file offsets.
VERSIONED_OLD(lockwright_mmap, large, "mmap64", BASE_VERSION);
VERSIONED_OLD(lockwright_spin_lock, old, "pthread_spin_lock", BASE_VERSION);
