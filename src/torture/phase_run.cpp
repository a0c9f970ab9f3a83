#include "phase_run.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "clock.hpp"
#include "disturbance.hpp"
#include "main_watch.hpp"
#include "report.hpp"
#include "watch.hpp"

namespace torture {
namespace {

// Room for the deepest stack here and a handler on top; thousands of threads have one each.
constexpr std::size_t stack_bytes = 256 << 10;

const char* description_of(activity what) {
  switch (what) {
    case activity::absent:
      return "is not there";
    case activity::between:
      return "is between two sections";
    case activity::halted:
      return "is halted";
    case activity::locks:
      return "waits in lock";
    case activity::tries:
      return "is in trylock";
    case activity::locks_by:
      return "waits in lock with a deadline";
    case activity::waits:
      return "waits on a condition variable, or returns from it";
    case activity::waits_by:
      return "waits on a condition variable with a deadline, or returns from it";
    case activity::inside:
      return "is inside";
    case activity::unlocks:
      return "is in unlock";
    case activity::waits_for_others:
      return "waits for threads or processes that it started";
  }
  return "?";
}

}  // namespace

void worker::does(activity what, const guarded* object) {
  since.store(run.tick(), std::memory_order_relaxed);
  if (object != nullptr) {
    with.store(object, std::memory_order_relaxed);
  }
  now.store(what, std::memory_order_release);
}

phase_run::phase_run(const settings& given, const phase& planned)
    : options{given},
      plan{planned},
      patience_{static_cast<std::uint64_t>(given.patience * 1e9 / double{tick_ns})} {
  for (std::uint32_t i = 0; i < planned.mutexes; ++i) {
    mutexes_.emplace_back(i, planned.type);
  }
}

phase_run::~phase_run() = default;

worker& phase_run::add_helper(const char* role) {
  const auto number = static_cast<std::uint32_t>(workers_.size() + 1);
  return workers_.emplace_back(*this, number, role, plan.seed + number * 0x632BE59BD9B4E019u);
}

worker& phase_run::add_worker(const char* role, std::function<void(worker&)> body) {
  worker& target = add_helper(role);
  target.body = std::move(body);
  return target;
}

void* phase_run::enter(void* at) {
  worker& me = *static_cast<worker*>(at);
  me.tid.store(static_cast<int>(syscall(SYS_gettid)));
  me.run.pause_if_halted(me);
  me.body(me);
  me.does(activity::absent);
  return nullptr;
}

void phase_run::start(worker& target) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  target.tid.store(0);
  target.does(activity::between);
  must(pthread_create(&target.thread, &attributes, enter, &target), "pthread_create");
  pthread_attr_destroy(&attributes);
}

void phase_run::start_helper(worker& child, std::function<void(worker&)> body) {
  child.body = std::move(body);
  start(child);
}

void* phase_run::join_helper(worker& child) {
  void* result = nullptr;
  must(pthread_join(child.thread, &result), "pthread_join");
  // A cancelled thread has not recorded its own end.
  child.does(activity::absent);
  return result;
}

void phase_run::halt(bool on) {
  halted_.store(on ? 1 : 0, std::memory_order_relaxed);
  if (!on) {
    futex_wake(halted_);
  }
}

void phase_run::pause_if_halted(worker& me) {
  while (halted_.load(std::memory_order_relaxed) != 0) {
    me.does(activity::halted);
    futex_wait(halted_, 1);
  }
  me.does(activity::between);
}

void phase_run::section(worker& me) const {
  const std::uint64_t drawn = me.draw.below(4096);
  if (drawn == 0) {
    sleep_ns(me.draw.between(50 * us, 2 * ms));
  } else if (drawn < 16) {
    sched_yield();
  } else if (plan.section_ns != 0 && drawn % 4 == 0) {
    busy(me.draw.below(4 * plan.section_ns));
  }
}

void phase_run::gap(worker& me) {
  if (plan.gap_ns != 0) {
    const std::uint64_t drawn = me.draw.below(1024);
    if (drawn == 0) {
      sleep_ns(me.draw.between(50 * us, 2 * ms));
    } else if (drawn < 4) {
      sched_yield();
    } else {
      busy(me.draw.below(2 * plan.gap_ns));
    }
  }
  pause_if_halted(me);
}

void phase_run::run(double seconds, stopper& stops) {
  // All begin at once.
  halt(true);
  std::vector<worker*> started;
  for (worker& each : workers_) {
    if (each.body) {
      started.push_back(&each);
      start(each);
    }
  }
  halt(false);

  disturbance disturber(*this, stops);
  watch watcher(*this);
  const std::uint64_t began = now();
  const auto length = static_cast<std::uint64_t>(seconds * 1e9);
  const auto has_ended = [](const worker* target) {
    return target->now.load() == activity::absent;
  };
  while (!std::all_of(started.begin(), started.end(), has_ended)) {
    main_thread("watches the threads");
    sleep_ns(tick_ns);
    tick_.fetch_add(1, std::memory_order_relaxed);
    if (!over() && now() - began >= length) {
      disturber.end();
      over_.store(true, std::memory_order_relaxed);
    }
    if (!over()) {
      disturber.on_tick();
    }
    watcher.look();
  }
  for (worker* each : started) {
    main_thread("joins a thread that has returned");
    must(pthread_join(each->thread, nullptr), "pthread_join");
  }
  main_thread("checks the phase, and destroys its mutexes");
  check_totals();
  for (const auto& check : checks_) {
    check();
  }
  for (guarded& each : mutexes_) {
    each.end();
  }
}

std::uint64_t phase_run::sections() const {
  std::uint64_t sum = 0;
  for (const worker& each : workers_) {
    sum += each.sections.load();
  }
  return sum;
}

void phase_run::check_totals() const {
  std::uint64_t counted = 0;
  for (const guarded& each : mutexes_) {
    counted += each.counted();
    if (each.owner() != 0) {
      fail("exclusion", "mutex " + std::to_string(each.number) + " is still marked as held");
    }
  }
  for (const auto& count : counts_) {
    counted += count();
  }
  if (counted != sections()) {
    fail("exclusion", "there were " + std::to_string(sections()) + " sections, and " +
                          std::to_string(counted) + " of them were counted inside");
  }
}

double phase_run::seconds_since(std::uint64_t tick) const {
  return static_cast<double>(this->tick() - tick) * double{tick_ns} / 1e9;
}

void phase_run::show(std::FILE* to) const {
  for (const guarded& each : mutexes_) {
    std::fprintf(to, "mutex %u (%s): %llu sections, inside: ", each.number, type_name(each.type),
                 static_cast<unsigned long long>(each.entries()));
    std::fprintf(to,
                 each.owner() != 0 ? "thread %u\n  bytes:" : "no thread\n  bytes:", each.owner());
    unsigned char bytes[sizeof each.mutex];
    std::memcpy(bytes, &each.mutex, sizeof bytes);
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
      std::fprintf(to, i % 8 == 0 ? "  %02x" : " %02x", bytes[i]);
    }
    std::fputc('\n', to);
  }
  // Longest operation first: of the waiters, the order of arrival.
  std::vector<const worker*> sorted;
  for (const worker& each : workers_) {
    if (each.now.load() != activity::absent) {
      sorted.push_back(&each);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const worker* target, const worker* other) {
    return target->since.load() < other->since.load();
  });
  for (const worker* each : sorted) {
    const activity what = each->now.load();
    const guarded* const with = each->with.load();
    std::fprintf(to, "thread %u (%s, kernel's number %d): %s", each->number, each->role,
                 each->tid.load(), description_of(what));
    if (with != nullptr && what != activity::between && what != activity::halted &&
        what != activity::waits_for_others) {
      std::fprintf(to, ", mutex %u", with->number);
    }
    std::fprintf(to, ", for %.2f s; %llu sections\n", seconds_since(each->since.load()),
                 static_cast<unsigned long long>(each->sections.load()));
  }
}

}  // namespace torture
