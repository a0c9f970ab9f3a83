#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

// A thread that has used this much processor time in a lock call is queued and polls: queueing
// takes a thousandth of it.
constexpr std::uint64_t polls_after_ns = 5 * ms;
// Queueing more threads would take longer than a phase.
constexpr std::uint64_t most_polling = 3;
constexpr std::uint64_t most_sleeping = 24;

enum : std::uint32_t { idle, queue_up, go_home };

struct alignas(apart) comer {
  std::atomic<std::uint32_t> told{idle};
  std::atomic<bool> called{false};  // is about to call lock, or has called it
  std::uint64_t used_before = 0;    // processor time
  bool gives_up = false;
  std::uint64_t rank = 0;
  const worker* who = nullptr;
};

struct line_up {
  line_up(guarded& by, std::uint64_t count) : mutex{by}, comers(count) {}
  guarded& mutex;
  std::deque<comer> comers;
  std::uint64_t let_in = 0;  // guarded
};

bool sleeps(int tid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) {
    return false;
  }
  char text[256] = {};
  const bool read = std::fgets(text, sizeof text, file) != nullptr;
  std::fclose(file);
  const char* const after = read ? std::strrchr(text, ')') : nullptr;
  return after != nullptr && after[1] == ' ' && after[2] == 'S';
}

std::uint64_t used_by(const worker& one) {
  clockid_t clock = 0;
  return pthread_getcpuclockid(one.thread, &clock) == 0 ? now(clock) : 0;
}

// Returns when the thread is provably queued: seen asleep in the lock call twice without having run
// in between, or after it has polled long enough.
void await_place(const comer& one) {
  std::uint64_t slept_at = 0;
  for (;;) {
    nap(100 * us);
    if (!one.called.load(std::memory_order_acquire)) {
      continue;
    }
    const std::uint64_t used = used_by(*one.who);
    if (used - one.used_before >= polls_after_ns) {
      return;
    }
    const bool asleep = sleeps(one.who->tid.load());
    if (asleep && used == slept_at) {
      return;
    }
    slept_at = asleep ? used : 0;
  }
}

void await_idle(comer& one) {
  for (std::uint32_t told = one.told.load(); told != idle; told = one.told.load()) {
    futex_wait(one.told, told);
  }
}

void tell(comer& one, std::uint32_t what) {
  one.told.store(what);
  futex_wake(one.told);
}

void come(worker& me, line_up& to, comer& own) {
  for (;;) {
    me.does(act::halted);
    while (own.told.load() == idle) {
      futex_wait(own.told, idle);
    }
    if (own.told.load() == go_home) {
      return;
    }
    own.used_before = now(CLOCK_THREAD_CPUTIME_ID);
    if (own.gives_up) {
      if (to.mutex.lock_within(me, me.draw.between(1, 2 * ms))) {
        to.mutex.unlock(me);
      }
    } else {
      me.does(act::locks, &to.mutex);
      own.called.store(true, std::memory_order_release);
      to.mutex.lock(me);
      own.rank = ++to.let_in;
      to.mutex.unlock(me);
    }
    me.does(act::halted);
    tell(own, idle);
  }
}

void check(const line_up& of, const std::vector<comer*>& came) {
  for (std::size_t i = 0; i < came.size(); ++i) {
    if (came[i]->rank != i + 1) {
      std::string ranks;
      for (const comer* each : came) {
        ranks += " " + std::to_string(each->rank);
      }
      fail("order", "threads that came to mutex " + std::to_string(of.mutex.number) +
                        " one after the other were let in as" + ranks);
    }
  }
}

void sequence(worker& me, line_up& to) {
  while (!me.at.over()) {
    std::vector<comer*> came;
    to.mutex.lock(me);
    to.let_in = 0;
    const std::uint64_t first = me.draw.below(to.comers.size());
    // On a slow machine, stop queueing before the first one's patience ends.
    const std::uint64_t until = me.at.tick() + me.at.patience_ticks() / 4;
    for (std::uint64_t i = me.draw.between(1, to.comers.size()); i > 0 && me.at.tick() < until;
         --i) {
      comer& next = to.comers[(first + i) % to.comers.size()];
      next.called.store(false);
      next.gives_up = me.draw.one_in(5);
      me.does(act::directs);
      tell(next, queue_up);
      if (next.gives_up) {
        await_idle(next);
      } else {
        await_place(next);
        came.push_back(&next);
      }
    }
    to.mutex.unlock(me);
    // This thread must be admitted after all of them.
    to.mutex.lock(me);
    const std::uint64_t before = to.let_in;
    to.mutex.unlock(me);
    me.does(act::directs);
    for (comer& each : to.comers) {
      await_idle(each);
    }
    check(to, came);
    if (before != came.size()) {
      fail("order", "a thread that came to mutex " + std::to_string(to.mutex.number) + " when " +
                        std::to_string(came.size()) + " others waited for it was let in after " +
                        std::to_string(before) + " of them");
    }
    me.at.gap(me);
  }
  for (comer& each : to.comers) {
    tell(each, go_home);
  }
}

}  // namespace

void order(phase_run& on) {
  const std::uint64_t most = on.asked.parks ? most_sleeping : most_polling;
  const auto to = std::make_shared<line_up>(on.mutexes()[0], std::min(on.plan.threads, most));
  on.add_worker("sequencer", [to](worker& me) { sequence(me, *to); });
  for (comer& each : to->comers) {
    each.who = &on.add_worker("arrival", [to, &each](worker& me) { come(me, *to, each); });
  }
}

}  // namespace torture
