// pthread_create and thrd_create: a thread begins in a function of this library, which notes the time.
#include "probe/lives.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

#include <cstring>
#include <utility>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/env/native/sandbox.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "probe/clock.hpp"
#include "probe/records.hpp"
#include "probe/state.hpp"
#include "probe/waits.hpp"

namespace lockwright::probe {
namespace {

using interpose::real;
using native_env::argument;
using native_env::system_call;

/// What a new thread has to call. A function of C11 returns an int, in the same register.
struct launch {
  std::atomic<bool> is_taken;
  void* (*function)(void*);
  void* passed;
  std::uint64_t routine;
  std::uint64_t begin_ns;
};
constinit launch launches[256]{};

/// The calling thread; begin_ns is 0 if its beginning was not noted, or its end was.
struct life {
  std::uint64_t begin_ns;
  std::uint64_t routine;
  live_thread* entry;
  bool is_late;  ///< it began before its process had a buffer
};
thread_local constinit life own_life{};

launch* take_launch() {
  for (launch& each : launches) {
    if (!each.is_taken.load(std::memory_order_relaxed) &&
        !each.is_taken.exchange(true, std::memory_order_acquire)) {
      return &each;
    }
  }
  return nullptr;
}

/// Returns the address that tells what a thread does: its function; for one of std::thread, which
/// all begin alike, the table of virtual functions of its state, whose type names the callable.
std::uint64_t routine_of(void* (*function)(void*), void* passed) {
  const auto address = reinterpret_cast<std::uint64_t>(function);
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found;
  if (passed != nullptr && _dl_find_object(reinterpret_cast<void*>(address), &found) == 0 &&
      std::strstr(found.dlfo_link_map->l_name, "libstdc++.so") != nullptr) {
    return *static_cast<const std::uint64_t*>(passed);
  }
#endif
  return address;
}

/// Notes the beginning of the calling thread. begin_ns: of the call that made it, from which on the
/// kernel counts the time in which it is ready to run.
void begin_life(std::uint64_t routine, std::uint64_t begin_ns) {
  profile_buffer* target = attached();
  own_life = {
      .begin_ns = begin_ns, .routine = routine, .entry = nullptr, .is_late = target == nullptr};
  if (target != nullptr) {
    enter_life(*target);
  }
  end_thread_later();
}

void* run(void* taken) {
  auto& prepared = *static_cast<launch*>(taken);
  void* (*const function)(void*) = prepared.function;
  void* const passed = prepared.passed;
  const std::uint64_t routine = prepared.routine;
  const std::uint64_t begin_ns = prepared.begin_ns;
  prepared.is_taken.store(false, std::memory_order_release);
  begin_life(routine, begin_ns);
  return function(passed);  // compiled to a jump, so this function is in no stack
}

/// Makes a thread by `create_by`, which gets what the thread has to call. create_plain: makes it
/// without this library's part.
template <class Create, class CreatePlain>
int create(void* (*function)(void*), void* passed, Create create_by, CreatePlain create_plain) {
  attach();
  launch* prepared = may_be_profiled() ? take_launch() : nullptr;
  if (prepared == nullptr) {
    return create_plain();
  }
  prepared->function = function;
  prepared->passed = passed;
  prepared->routine = routine_of(function, passed);
  prepared->begin_ns = monotonic_ns();
  const int error = create_by(prepared);
  if (error != 0) {
    prepared->is_taken.store(false, std::memory_order_release);
  }
  return error;
}

/// Returns the account of the threads with a name and a routine; that of all others if there is no
/// room.
thread_role& role_of(profile_buffer& target, const char (&name)[16], std::uint64_t routine) {
  std::uint64_t words[2];
  std::memcpy(words, name, sizeof words);
  std::uint64_t hash = routine;
  for (const std::uint64_t each : words) {
    hash = (hash ^ each) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  hash |= 1;
  for (std::uint64_t tries = 0; tries < profile_buffer::role_numbers - 1; ++tries) {
    thread_role& entry = target.roles[(hash + tries) % (profile_buffer::role_numbers - 1)];
    std::uint64_t present = entry.hash.load(std::memory_order_relaxed);
    if (present == 0 && entry.hash.compare_exchange_strong(present, hash)) {
      std::memcpy(entry.name, name, sizeof name);
      entry.routine = routine;
      present = hash;
    }
    if (present == hash) {
      return entry;
    }
  }
  return target.roles[profile_buffer::role_numbers - 1];
}

}  // namespace

std::uint64_t ready_ns() {
  char text[64]{};
  native_env::unless_filtered([&text] {
    const long file = system_call(SYS_openat, AT_FDCWD, argument("/proc/thread-self/schedstat"),
                                  O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0) {
      system_call(SYS_read, file, argument(text), sizeof text - 1);
      system_call(SYS_close, file);
    }
  });
  // The second of three numbers.
  const char* digit = std::strchr(text, ' ');
  std::uint64_t value = 0;
  for (digit = digit != nullptr ? digit + 1 : ""; *digit >= '0' && *digit <= '9'; ++digit) {
    value = value * 10 + static_cast<std::uint64_t>(*digit - '0');
  }
  return value;
}

std::uint64_t ran_ns() {
  timespec ran{};
  native_env::unless_filtered(
      [&ran] { system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, argument(&ran)); });
  return static_cast<std::uint64_t>(ran.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(ran.tv_nsec);
}

void leave_life() { own_life = {}; }

void enter_life(profile_buffer& target) {
  if (own_life.begin_ns == 0 || own_life.entry != nullptr) {
    return;
  }
  note_module(target, own_life.routine);
  const std::uint32_t tid = interpose::thread_number();
  for (std::uint32_t i = 0; i < profile_buffer::thread_numbers; ++i) {
    live_thread& entry = target.lives[(tid + i) % profile_buffer::thread_numbers];
    std::uint32_t none = 0;
    if (entry.tid.compare_exchange_strong(none, tid, std::memory_order_acquire)) {
      entry.routine = own_life.routine;
      entry.begin_ns = own_life.begin_ns;
      own_life.entry = &entry;
      break;
    }
  }
}

void end_life() {
  profile_buffer* target = attached();
  if (own_life.begin_ns == 0 || target == nullptr) {
    return;
  }
  enter_life(*target);
  const std::uint64_t lived = monotonic_ns() - std::exchange(own_life.begin_ns, 0);
  char name[16]{};
  native_env::unless_filtered([&name] { system_call(SYS_prctl, PR_GET_NAME, argument(name)); });
  thread_role& role = role_of(*target, name, own_life.routine);
  role.threads.fetch_add(1, std::memory_order_relaxed);
  role.lived.fetch_add(lived, std::memory_order_relaxed);
  role.ran.fetch_add(ran_ns(), std::memory_order_relaxed);
  role.ready.fetch_add(ready_ns(), std::memory_order_relaxed);
  thread_slot& thread = *this_slot;
  if (&thread != &unassigned_slot) {
    if (thread.number != no_number) {
      end_cancelled_wait(*target, thread);
    }
    role.locks.fetch_add(std::exchange(thread.all_waited, 0), std::memory_order_relaxed);
    for (awaited_object& each : thread.awaited) {
      const std::uint64_t object = std::exchange(each.object, 0);
      const std::uint64_t waited = std::exchange(each.waited, 0);
      if (object != 0 && !note_awaited(role.awaited, object, waited, false)) {
        role.objects[kind_of(*target, object) - 1].fetch_add(waited, std::memory_order_relaxed);
      }
    }
    for (std::uint32_t i = 0; i < wait_object::kinds; ++i) {
      role.objects[i].fetch_add(std::exchange(thread.object_waited[i], 0),
                                std::memory_order_relaxed);
    }
  }
  if (own_life.entry != nullptr) {
    if (own_life.is_late) {
      own_life.entry->has_ended = 1;  // for a reader that has seen the thread without an entry
    } else {
      own_life.entry->tid.store(0, std::memory_order_release);
    }
  }
}

}  // namespace lockwright::probe

extern "C" {

using namespace lockwright::probe;
using lockwright::interpose::real;

int lockwright_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                      void* passed) noexcept {
  return create(
      function, passed,
      [=](void* taken) { return real.thread_create(thread, attributes, run, taken); },
      [=] { return real.thread_create(thread, attributes, function, passed); });
}

int lockwright_thrd_create(thrd_t* thread, thrd_start_t function, void* passed) noexcept {
  const auto plain = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void*>(function));
  return create(
      plain, passed,
      [=](void* taken) {
        return real.c11_create(thread, reinterpret_cast<thrd_start_t>(reinterpret_cast<void*>(run)),
                               taken);
      },
      [=] { return real.c11_create(thread, function, passed); });
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_create, "pthread_create", "GLIBC_2.34");
VERSIONED_OLD(lockwright_create, old, "pthread_create", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_thrd_create, "thrd_create", "GLIBC_2.34");
VERSIONED_OLD(lockwright_thrd_create, old, "thrd_create", "GLIBC_2.28");
