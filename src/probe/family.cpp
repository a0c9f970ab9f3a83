#include "family.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "clock.hpp"
#include "lockwright/env/native/file.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::probe {
namespace {

using native_env::argument;
using native_env::system_call;

/// Of the first file, with room for the number of another behind it.
constinit char path[512]{};
constinit std::size_t path_length = 0;

std::uint32_t self() { return static_cast<std::uint32_t>(system_call(SYS_getpid)); }

long open_file(int flags) { return system_call(SYS_openat, AT_FDCWD, argument(path), flags, 0600); }

/// A sheet of this layout; null for any other file. Closes the file.
sheet* map_file(long file) {
  auto* mapped = static_cast<sheet*>(native_env::map_shared(file, sizeof(sheet)));
  if (mapped == nullptr) {
    return nullptr;
  }
  if (std::memcmp(mapped->magic, sheet::expected, sizeof mapped->magic) != 0 ||
      mapped->bytes != sizeof(sheet)) {
    system_call(SYS_munmap, argument(mapped), sizeof(sheet));
    return nullptr;
  }
  if (mapped->pid.load() == 0) {
    // A fault on a lock path would take longer than what is measured there. Kernels before 5.14
    // have no such request, and fault.
    constexpr long populate_write = 23;
    system_call(SYS_madvise, argument(mapped), sizeof(sheet), populate_write);
  }
  return mapped;
}

/// Makes the file a sheet that is nobody's yet.
bool fill(long file) {
  const std::uint64_t bytes = sizeof(sheet);
  return system_call(SYS_fallocate, file, 0, 0, static_cast<long>(bytes)) == 0 &&
         system_call(SYS_pwrite64, file, argument(sheet::expected), sizeof sheet::expected, 0) >
             0 &&
         system_call(SYS_pwrite64, file, argument(&bytes), sizeof bytes, offsetof(sheet, bytes)) >
             0;
}

/// What the process was before says nothing of what it is now.
void forget(sheet& target) {
  constexpr std::size_t first = offsetof(sheet, creations);
  std::memset(reinterpret_cast<char*>(&target) + first, 0, sizeof(sheet) - first);
  for (auto* used : {&target.threads_used, &target.modules_used, &target.modules_taken,
                     &target.records_used, &target.details_used, &target.moment_blocks_used}) {
    used->store(0);
  }
}

}  // namespace

sheet* map_first() {
  const char* named = getenv("LOCKWRIGHT_PROFILE");
  path_length = named == nullptr ? 0 : std::strlen(named);
  if (path_length == 0 || path_length > sizeof path - 4) {
    return nullptr;
  }
  std::memcpy(path, named, path_length + 1);
  return map_file(open_file(O_RDWR | O_CLOEXEC));
}

bool claim(sheet& target) {
  std::uint32_t present = 0;
  if (target.pid.compare_exchange_strong(present, self())) {
    const instant now = both_clocks();
    target.begin_ticks = now.ticks;
    target.begin_ns = now.ns;
    target.ticks_per_second = ticks_per_second();
  } else if (present == self()) {
    forget(target);
  } else {
    return false;
  }
  target.images.fetch_add(1);
  const long length = system_call(SYS_readlinkat, AT_FDCWD, argument("/proc/self/exe"),
                                  argument(target.program), sizeof target.program - 1);
  target.program[length > 0 ? length : 0] = '\0';
  return true;
}

void note_other(sheet& first) {
  const std::uint32_t number = first.others.fetch_add(1, std::memory_order_relaxed);
  if (number < sheet::other_numbers) {
    first.other_pids[number] = self();
  }
}

sheet* take_own(sheet& first) {
  // Another thread of the process that this one was forked from may have been in the midst of this.
  char* end = path + path_length;
  *end = '\0';
  // Once `lockwright` has ended nobody would remove another file. A server may have given up the
  // right to open the first by now.
  if (system_call(SYS_faccessat, AT_FDCWD, argument(path), F_OK) != 0) {
    return nullptr;
  }
  sheet* found = nullptr;
  for (unsigned number = 1; number <= most_files && found == nullptr; ++number) {
    end[0] = '.';
    end[1] = static_cast<char>('0' + number);
    end[2] = '\0';
    const long made = open_file(O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL);
    if (made >= 0 && !fill(made)) {
      system_call(SYS_close, made);
      system_call(SYS_unlinkat, AT_FDCWD, argument(path), 0);
      break;
    }
    // One that is there may be what this process had as another program.
    sheet* mapped = map_file(made >= 0 ? made : open_file(O_RDWR | O_CLOEXEC));
    if (mapped != nullptr && claim(*mapped)) {
      found = mapped;
      // The reader looks for files only as far as this says that there are some.
      std::uint32_t known = first.files.load();
      while (known < number && !first.files.compare_exchange_weak(known, number)) {
      }
    } else if (mapped != nullptr) {
      system_call(SYS_munmap, argument(mapped), sizeof(sheet));
    }
  }
  *end = '\0';
  return found;
}

}  // namespace lockwright::probe
