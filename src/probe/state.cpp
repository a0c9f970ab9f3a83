#include "state.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "lockwright/env/native/syscall.hpp"
#include "lockwright/env/native/valgrind.hpp"
#include "real.hpp"

extern "C" void* __dso_handle;

namespace lockwright::probe {
namespace {

using native_env::argument;
using native_env::system_call;

enum class standing : std::uint32_t { unknown, attaching, attached, apart };

constinit std::atomic<standing> process{standing::unknown};
constinit sheet* the_sheet = nullptr;

/// Mapped when this library was loaded, since that takes a millisecond; not yet claimed.
constinit sheet* prepared = nullptr;

/// Of a thread that nobody reads.
thread_local constinit thread_slot unread{};

constexpr std::int32_t for_long = 0x7fffffff;

/// A thread that takes mutexes seldom has each looked at, one that does nothing else one in so many.
constexpr std::uint32_t most_period = 1 << 16;

sheet* map_file(const char* path) {
  const long file = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  const long length = system_call(SYS_lseek, file, 0, SEEK_END);
  long at = -1;
  if (length >= static_cast<long>(sizeof(sheet))) {
    at = system_call(SYS_mmap, 0, sizeof(sheet), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  system_call(SYS_close, file);
  if (at < 0 && at > -4096) {
    return nullptr;
  }
  auto* mapped = reinterpret_cast<sheet*>(at);
  native_env::valgrind::hide(mapped, sizeof *mapped);
  if (std::memcmp(mapped->magic, sheet::expected, sizeof mapped->magic) != 0 ||
      mapped->bytes != sizeof(sheet)) {
    system_call(SYS_munmap, at, sizeof(sheet));
    return nullptr;
  }
  if (mapped->pid.load() == 0) {
    // A fault on a lock path would take longer than what is measured there. Kernels before 5.14
    // have no such request, and fault.
    constexpr long populate_write = 23;
    system_call(SYS_madvise, at, sizeof(sheet), populate_write);
  }
  return mapped;
}

/// The sheet that the environment names; null if there is none.
sheet* map_named() {
  const char* path = getenv("LOCKWRIGHT_PROFILE");
  return path == nullptr ? nullptr : map_file(path);
}

/// Whether this process is the one to profile. The first that takes a mutex is, and stays it when it
/// becomes another program, of which nothing is known yet.
bool claim(sheet& target) {
  const auto self = static_cast<std::uint32_t>(system_call(SYS_getpid));
  std::uint32_t present = 0;
  if (target.pid.compare_exchange_strong(present, self)) {
    target.begin_ticks = ticks();
    target.begin_ns = monotonic_ns();
    target.ticks_per_second = ticks_per_second();
  } else if (present == self) {
    constexpr std::size_t first = offsetof(sheet, threads);
    std::memset(reinterpret_cast<char*>(&target) + first, 0, sizeof(sheet) - first);
    for (auto* used : {&target.threads_used, &target.modules_used, &target.modules_taken,
                       &target.records_used, &target.details_used, &target.moment_blocks_used}) {
      used->store(0);
    }
  } else {
    target.others.fetch_add(1);
    return false;
  }
  target.images.fetch_add(1);
  const long length = system_call(SYS_readlinkat, AT_FDCWD, argument("/proc/self/exe"),
                                  argument(target.program), sizeof target.program - 1);
  target.program[length > 0 ? length : 0] = '\0';
  return true;
}

/// A child's sheet is its parent's: it keeps its hands off.
void in_child() {
  if (the_sheet == nullptr) {
    return;
  }
  the_sheet->others.fetch_add(1, std::memory_order_relaxed);
  process.store(standing::apart, std::memory_order_relaxed);
  unread = {};
  mine = &nobody;
}

}  // namespace

constinit thread_slot nobody{};
thread_local constinit thread_slot* mine = &nobody;

sheet* attached() {
  return process.load(std::memory_order_acquire) == standing::attached ? the_sheet : nullptr;
}

sheet* attach() {
  standing present = process.load(std::memory_order_acquire);
  // Without an environment the C library has not started: whoever locks then does so unseen.
  if (present == standing::unknown && environ != nullptr &&
      process.compare_exchange_strong(present, standing::attaching)) {
    sheet* mapped = prepared != nullptr ? prepared : map_named();
    const bool is_ours = mapped != nullptr && claim(*mapped);
    if (mapped != nullptr && !is_ours) {
      system_call(SYS_munmap, argument(mapped), sizeof(sheet));
    }
    if (is_ours) {
      the_sheet = mapped;
    }
    process.store(is_ours ? standing::attached : standing::apart, std::memory_order_release);
  }
  return attached();
}

void prepare() {
  if (process.load(std::memory_order_acquire) == standing::unknown) {
    prepared = map_named();
  }
  preload::real.register_atfork(nullptr, nullptr, in_child, static_cast<void*>(&__dso_handle));
}

thread_slot& meet_thread() {
  sheet* target = attach();
  thread_slot* slot = &unread;
  if (target != nullptr) {
    const std::uint32_t number =
        target->threads_used.fetch_add(1, std::memory_order_relaxed) % sheet::thread_numbers;
    slot = &target->threads[number];
    slot->number = number;
  }
  slot->tid = static_cast<std::uint32_t>(system_call(SYS_gettid));
  if (slot == &unread) {
    slot->countdown = for_long;
  } else {
    const std::uint64_t now = ticks();
    slot->period = 1;
    slot->drawn = 1;
    slot->waits_period = 1;
    slot->waits_drawn = 1;
    slot->waits_countdown = 1;
    slot->random = slot->tid * 2654435761U | 1;
    // The first acquisition says nothing about how often there is one.
    slot->last_sample = now - 2 * sample_every();
    slot->last_wait = now - 2 * wait_every();
    slot->clock_ticks = now;
    slot->clock_ns = monotonic_ns();
    // A thread that nobody has met counts at the slot of nobody, and the acquisition that brought
    // it here is the first of its own.
    slot->countdown = -1;
  }
  // While another thread attaches, or nobody can, this one comes here again.
  if (target != nullptr || process.load(std::memory_order_relaxed) == standing::apart) {
    mine = slot;
  }
  return *slot;
}

std::uint32_t next_sample(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = thread.drawn;
  thread.acquisitions += weight;
  const std::uint64_t gap = now - thread.last_sample;
  if (gap < sample_every() && thread.period < most_period) {
    thread.period *= 2;
  } else if (gap > 3 * sample_every() && thread.period > 1) {
    thread.period /= 2;
  }
  thread.last_sample = now;
  // From half the period to one and a half, so that no rhythm of the program's is met.
  thread.drawn = thread.period <= 1 ? 1 : thread.period / 2 + 1 + draw(thread) % thread.period;
  thread.countdown = static_cast<std::int32_t>(thread.drawn) - 1;
  if (now - thread.clock_ticks > 200 * ticks_per_microsecond()) {
    thread.clock_ns = monotonic_ns();
    thread.clock_ticks = ticks();
  }
  return weight;
}

std::uint32_t next_wait(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = thread.waits_drawn;
  const std::uint64_t gap = now - thread.last_wait;
  if (gap < wait_every() && thread.waits_period < most_period) {
    thread.waits_period *= 2;
  } else if (gap > 3 * wait_every() && thread.waits_period > 1) {
    thread.waits_period /= 2;
  }
  thread.last_wait = now;
  thread.waits_drawn = thread.waits_period <= 1
                           ? 1
                           : thread.waits_period / 2 + 1 + draw(thread) % thread.waits_period;
  thread.waits_countdown = thread.waits_drawn;
  return weight;
}

}  // namespace lockwright::probe
