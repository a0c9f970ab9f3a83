#include "stage.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "clock.hpp"
#include "disturbance.hpp"
#include "report.hpp"
#include "watch.hpp"

namespace torture {
namespace {

// Room for the deepest stack here and a handler on top; thousands of threads have one each.
constexpr std::size_t stack_bytes = 256 << 10;

const char* words(act what) {
  switch (what) {
    case act::absent:
      return "is not there";
    case act::between:
      return "is between two sections";
    case act::halted:
      return "is halted";
    case act::locks:
      return "waits in lock";
    case act::tries:
      return "is in trylock";
    case act::locks_by:
      return "waits in lock with a deadline";
    case act::waits:
      return "waits on a condition variable, or comes back from it";
    case act::waits_by:
      return "waits on a condition variable with a deadline, or comes back from it";
    case act::inside:
      return "is inside";
    case act::unlocks:
      return "is in unlock";
    case act::directs:
      return "waits for threads or processes of its own";
  }
  return "?";
}

}  // namespace

void actor::does(act what, const guarded* object) {
  since.store(at.tick(), std::memory_order_relaxed);
  if (object != nullptr) {
    with.store(object, std::memory_order_relaxed);
  }
  now.store(what, std::memory_order_release);
}

stage::stage(const settings& given, const phase& planned)
    : asked{given},
      plan{planned},
      patience_{static_cast<std::uint64_t>(given.patience * 1e9 / double{tick_ns})} {
  for (std::uint32_t i = 0; i < planned.mutexes; ++i) {
    mutexes_.emplace_back(i, planned.type);
  }
}

stage::~stage() = default;

actor& stage::understudy(const char* role) {
  const auto number = static_cast<std::uint32_t>(actors_.size() + 1);
  return actors_.emplace_back(*this, number, role, plan.seed + number * 0x632BE59BD9B4E019u);
}

actor& stage::cast(const char* role, std::function<void(actor&)> play) {
  actor& one = understudy(role);
  one.play = std::move(play);
  return one;
}

void* stage::enter(void* at) {
  actor& me = *static_cast<actor*>(at);
  me.tid.store(static_cast<int>(syscall(SYS_gettid)));
  me.at.rest_if_halted(me);
  me.play(me);
  me.does(act::absent);
  return nullptr;
}

void stage::start(actor& one) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  one.tid.store(0);
  one.does(act::between);
  must(pthread_create(&one.thread, &attributes, enter, &one), "pthread_create");
  pthread_attr_destroy(&attributes);
}

void stage::bear(actor& child, std::function<void(actor&)> play) {
  child.play = std::move(play);
  start(child);
}

void* stage::bury(actor& child) {
  void* result = nullptr;
  must(pthread_join(child.thread, &result), "pthread_join");
  // A thread that was cancelled has not said so itself.
  child.does(act::absent);
  return result;
}

void stage::halt(bool on) {
  halted_.store(on ? 1 : 0, std::memory_order_relaxed);
  if (!on) {
    futex_wake(halted_);
  }
}

void stage::rest_if_halted(actor& me) {
  while (halted_.load(std::memory_order_relaxed) != 0) {
    me.does(act::halted);
    futex_wait(halted_, 1);
  }
  me.does(act::between);
}

void stage::section(actor& me) const {
  const std::uint64_t drawn = me.draw.below(4096);
  if (drawn == 0) {
    nap(me.draw.between(50 * us, 2 * ms));
  } else if (drawn < 16) {
    sched_yield();
  } else if (plan.section_ns != 0 && drawn % 4 == 0) {
    busy(me.draw.below(4 * plan.section_ns));
  }
}

void stage::gap(actor& me) {
  if (plan.gap_ns != 0) {
    const std::uint64_t drawn = me.draw.below(1024);
    if (drawn == 0) {
      nap(me.draw.between(50 * us, 2 * ms));
    } else if (drawn < 4) {
      sched_yield();
    } else {
      busy(me.draw.below(2 * plan.gap_ns));
    }
  }
  rest_if_halted(me);
}

void stage::perform(double seconds, stopper& stops) {
  // All begin at once.
  halt(true);
  std::vector<actor*> own;
  for (actor& each : actors_) {
    if (each.play) {
      own.push_back(&each);
      start(each);
    }
  }
  halt(false);

  disturbance chaos(*this, stops);
  watch eye(*this);
  const std::uint64_t began = now();
  const auto length = static_cast<std::uint64_t>(seconds * 1e9);
  const auto played = [](const actor* one) { return one->now.load() == act::absent; };
  while (!std::all_of(own.begin(), own.end(), played)) {
    nap(tick_ns);
    tick_.fetch_add(1, std::memory_order_relaxed);
    if (!over() && now() - began >= length) {
      chaos.end();
      over_.store(true, std::memory_order_relaxed);
    }
    if (!over()) {
      chaos.beat();
    }
    eye.look();
  }
  for (actor* each : own) {
    must(pthread_join(each->thread, nullptr), "pthread_join");
  }
  check_totals();
  for (const auto& check : checks_) {
    check();
  }
  for (guarded& each : mutexes_) {
    each.end();
  }
}

std::uint64_t stage::sections() const {
  std::uint64_t sum = 0;
  for (const actor& each : actors_) {
    sum += each.sections.load();
  }
  return sum;
}

void stage::check_totals() const {
  std::uint64_t counted = 0;
  for (const guarded& each : mutexes_) {
    counted += each.counted();
    if (each.owner() != 0) {
      fail("exclusion", "mutex " + std::to_string(each.number) + " is still marked as held");
    }
  }
  if (counted != sections()) {
    fail("exclusion", "there were " + std::to_string(sections()) + " sections, and " +
                          std::to_string(counted) + " of them were counted inside");
  }
}

double stage::seconds_since(std::uint64_t tick) const {
  return static_cast<double>(this->tick() - tick) * double{tick_ns} / 1e9;
}

void stage::show(std::FILE* to) const {
  for (const guarded& each : mutexes_) {
    std::fprintf(to, "mutex %u (%s): %llu sections, inside: ", each.number, type_name(each.type),
                 static_cast<unsigned long long>(each.entries()));
    std::fprintf(to, each.owner() != 0 ? "thread %u\n  bytes:" : "nobody\n  bytes:", each.owner());
    unsigned char bytes[sizeof each.mutex];
    std::memcpy(bytes, &each.mutex, sizeof bytes);
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
      std::fprintf(to, i % 8 == 0 ? "  %02x" : " %02x", bytes[i]);
    }
    std::fputc('\n', to);
  }
  // Those that do the same thing for longest first: of the waiters, the order of arrival.
  std::vector<const actor*> sorted;
  for (const actor& each : actors_) {
    if (each.now.load() != act::absent) {
      sorted.push_back(&each);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const actor* one, const actor* other) {
    return one->since.load() < other->since.load();
  });
  for (const actor* each : sorted) {
    const act what = each->now.load();
    const guarded* const with = each->with.load();
    std::fprintf(to, "thread %u (%s, kernel's number %d): %s", each->number, each->role,
                 each->tid.load(), words(what));
    if (with != nullptr && what != act::between && what != act::halted && what != act::directs) {
      std::fprintf(to, ", mutex %u", with->number);
    }
    std::fprintf(to, ", for %.2f s; %llu sections\n", seconds_since(each->since.load()),
                 static_cast<unsigned long long>(each->sections.load()));
  }
}

}  // namespace torture
