#include "probe/buffer_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/file.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "probe/clock.hpp"

namespace lockwright::probe {
namespace {

using native_env::argument;
using native_env::system_call;

constexpr std::uint64_t layout_number = interpose::layout_number<profile_buffer>();

/// The path of the first file.
constinit char path[512]{};

long open_file(const char* name) {
  return system_call(SYS_openat, AT_FDCWD, argument(name), O_RDWR | O_CLOEXEC);
}

/// Returns true while the command runs: it removes the files when it ends.
bool is_read() { return system_call(SYS_faccessat, AT_FDCWD, argument(path), F_OK) == 0; }

/// Returns true if the limit of file sizes, beyond which the kernel kills the program, allows a
/// buffer.
bool file_size_allows_buffer() {
  rlimit longest{};
  return system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, argument(&longest)) == 0 &&
         longest.rlim_cur >= sizeof(profile_buffer);
}

/// Maps a file and closes it; returns null for a file of another layout.
profile_buffer* map_file(long file) {
  auto* mapped = static_cast<profile_buffer*>(native_env::map_shared(file, sizeof(profile_buffer)));
  if (mapped == nullptr) {
    return nullptr;
  }
  if (!mapped->stamp.is(profile_buffer::magic, layout_number)) {
    system_call(SYS_munmap, argument(mapped), sizeof(profile_buffer));
    return nullptr;
  }
  if (mapped->claimed.load() == 0) {
    // Avoids page faults on a lock path, which would take longer than what is measured there.
    // Kernels before 5.14 do not support the request.
    constexpr long populate_write = 23;
    system_call(SYS_madvise, argument(mapped), sizeof(profile_buffer), populate_write);
  }
  return mapped;
}

/// Makes the file an unclaimed buffer.
bool fill(long file) {
  interpose::layout_stamp stamp{.magic = {}, .number = layout_number};
  std::memcpy(stamp.magic, profile_buffer::magic, sizeof stamp.magic);
  return system_call(SYS_fallocate, file, 0, 0, static_cast<long>(sizeof(profile_buffer))) == 0 &&
         system_call(SYS_pwrite64, file, argument(&stamp), sizeof stamp, 0) > 0;
}

/// Clears the records of the program that the process ran before an exec.
void clear_records(profile_buffer& target) {
  constexpr std::size_t first = offsetof(profile_buffer, creations);
  std::memset(reinterpret_cast<char*>(&target) + first, 0, sizeof(profile_buffer) - first);
  for (auto* used : {&target.threads_used, &target.threads_sharing, &target.modules_used,
                     &target.modules_taken, &target.path_bytes_used, &target.records_used,
                     &target.details_used, &target.span_blocks_used}) {
    used->store(0);
  }
}

/// Returns the acquisitions so far of the process that has the first buffer.
std::uint64_t taken_in(const profile_buffer& first) {
  const std::uint32_t used = std::min(first.threads_used.load(), profile_buffer::thread_numbers);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    const thread_slot& each = first.threads[i];
    for (const std::uint64_t* count : {&each.acquisitions, &each.contended}) {
      sum += __atomic_load_n(count, __ATOMIC_RELAXED);
    }
  }
  return sum;
}

}  // namespace

profile_buffer* map_first() {
  const char* named = native_env::environment_variable("LOCKWRIGHT_PROFILE");
  const std::size_t length = named == nullptr ? 0 : std::strlen(named);
  if (length == 0 || length > sizeof path - 4) {
    return nullptr;
  }
  std::memcpy(path, named, length + 1);
  return map_file(open_file(path));
}

void note_begin(profile_buffer& target) {
  const instant now = both_clocks();
  target.begin_ticks = now.ticks;
  target.begin_ns = now.ns;
}

bool claim(profile_buffer& target) {
  const interpose::process_identity self = interpose::identity_of_caller();
  std::uint64_t present = 0;
  if (target.claimed.compare_exchange_strong(present, self.hash())) {
    note_begin(target);
    target.ticks_per_second = ticks_per_second();
    target.process = self;
  } else if (present == self.hash()) {
    clear_records(target);
  } else {
    return false;
  }
  target.images.fetch_add(1);
  const long length = system_call(SYS_readlinkat, AT_FDCWD, argument("/proc/self/exe"),
                                  argument(target.program), sizeof target.program - 1);
  target.program[length > 0 ? length : 0] = '\0';
  return true;
}

other_process& note_other_process(profile_buffer& first) {
  const std::uint32_t number = first.others.fetch_add(1, std::memory_order_relaxed);
  if (number >= profile_buffer::other_numbers) {
    return first.other_processes[profile_buffer::other_numbers];
  }
  first.other_processes[number].process = interpose::identity_of_caller();
  return first.other_processes[number];
}

bool gets_file(profile_buffer& first, std::uint32_t taken) {
  if (taken >= acquisitions_for_file) {
    return true;
  }
  std::uint32_t most = first.most.load();
  const std::uint64_t others = std::max<std::uint64_t>(most, taken_in(first));
  const bool is_most = taken >= acquisitions_if_most && others * ratio_of_most <= taken;
  // Of several processes at the same time, one gets a file.
  return (others == 0 || is_most) && first.most.compare_exchange_strong(most, taken);
}

profile_buffer* fill_own_file(profile_buffer& first) {
  if (!is_read() || !file_size_allows_buffer()) {
    return nullptr;
  }
  // A copy: another thread may fork meanwhile, and the child needs the original path.
  char name[sizeof path + 2];
  const std::size_t length = std::strlen(path);
  std::memcpy(name, path, length);
  profile_buffer* found = nullptr;
  for (unsigned number = 1; number <= max_files && found == nullptr; ++number) {
    name[length] = '.';
    name[length + 1] = static_cast<char>('0' + number);
    name[length + 2] = '\0';
    const long file = open_file(name);
    if (file < 0) {
      break;
    }
    const std::uint32_t bit = 1U << number;
    if ((first.taken.fetch_or(bit) & bit) == 0 && !fill(file)) {
      // Another process may find memory later.
      system_call(SYS_ftruncate, file, 0);
      system_call(SYS_close, file);
      first.taken.fetch_and(~bit);
      break;
    }
    // A taken file may be this process's own, from before an exec.
    profile_buffer* mapped = map_file(file);
    if (mapped != nullptr && claim(*mapped)) {
      found = mapped;
      // The reader looks for this many files.
      std::uint32_t known = first.files.load();
      while (known < number && !first.files.compare_exchange_weak(known, number)) {
      }
    } else if (mapped != nullptr) {
      system_call(SYS_munmap, argument(mapped), sizeof(profile_buffer));
    }
  }
  return found;
}

}  // namespace lockwright::probe
