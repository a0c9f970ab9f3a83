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
constexpr std::uint64_t max_polling = 3;
constexpr std::uint64_t max_sleeping = 24;

enum : std::uint32_t { idle, queue_up, quit };

struct alignas(apart) arrival {
  std::atomic<std::uint32_t> command{idle};
  std::atomic<bool> called{false};  // is about to call lock, or has called it
  std::uint64_t used_before = 0;    // processor time
  bool gives_up = false;
  std::uint64_t rank = 0;
  const worker* runner = nullptr;
};

struct arrival_queue {
  arrival_queue(guarded& by, std::uint64_t count) : mutex{by}, arrivals(count) {}
  guarded& mutex;
  std::deque<arrival> arrivals;
  std::uint64_t admitted = 0;  // guarded
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

std::uint64_t used_by(const worker& target) {
  clockid_t clock = 0;
  return pthread_getcpuclockid(target.thread, &clock) == 0 ? now(clock) : 0;
}

// Returns when the thread is provably queued: seen asleep in the lock call twice without having run
// in between, or after it has polled long enough.
void await_queued(const arrival& target) {
  std::uint64_t slept_at = 0;
  for (;;) {
    sleep_ns(100 * us);
    if (!target.called.load(std::memory_order_acquire)) {
      continue;
    }
    const std::uint64_t used = used_by(*target.runner);
    if (used - target.used_before >= polls_after_ns) {
      return;
    }
    const bool asleep = sleeps(target.runner->tid.load());
    if (asleep && used == slept_at) {
      return;
    }
    slept_at = asleep ? used : 0;
  }
}

void await_idle(arrival& target) {
  for (std::uint32_t command = target.command.load(); command != idle;
       command = target.command.load()) {
    futex_wait(target.command, command);
  }
}

void send_command(arrival& target, std::uint32_t what) {
  target.command.store(what);
  futex_wake(target.command);
}

void arrive(worker& me, arrival_queue& to, arrival& own) {
  for (;;) {
    me.does(act::halted);
    while (own.command.load() == idle) {
      futex_wait(own.command, idle);
    }
    if (own.command.load() == quit) {
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
      own.rank = ++to.admitted;
      to.mutex.unlock(me);
    }
    me.does(act::halted);
    send_command(own, idle);
  }
}

void check(const arrival_queue& of, const std::vector<arrival*>& came) {
  for (std::size_t i = 0; i < came.size(); ++i) {
    if (came[i]->rank != i + 1) {
      std::string ranks;
      for (const arrival* each : came) {
        ranks += " " + std::to_string(each->rank);
      }
      fail("order", "threads that came to mutex " + std::to_string(of.mutex.number) +
                        " one after the other were let in as" + ranks);
    }
  }
}

void sequence(worker& me, arrival_queue& to) {
  while (!me.run.over()) {
    std::vector<arrival*> came;
    to.mutex.lock(me);
    to.admitted = 0;
    const std::uint64_t first = me.draw.below(to.arrivals.size());
    // On a slow machine, stop queueing before the first one's patience ends.
    const std::uint64_t until = me.run.tick() + me.run.patience_ticks() / 4;
    for (std::uint64_t i = me.draw.between(1, to.arrivals.size()); i > 0 && me.run.tick() < until;
         --i) {
      arrival& next = to.arrivals[(first + i) % to.arrivals.size()];
      next.called.store(false);
      next.gives_up = me.draw.one_in(5);
      me.does(act::directs);
      send_command(next, queue_up);
      if (next.gives_up) {
        await_idle(next);
      } else {
        await_queued(next);
        came.push_back(&next);
      }
    }
    to.mutex.unlock(me);
    // This thread must be admitted after all of them.
    to.mutex.lock(me);
    const std::uint64_t before = to.admitted;
    to.mutex.unlock(me);
    me.does(act::directs);
    for (arrival& each : to.arrivals) {
      await_idle(each);
    }
    check(to, came);
    if (before != came.size()) {
      fail("order", "a thread that came to mutex " + std::to_string(to.mutex.number) + " when " +
                        std::to_string(came.size()) + " others waited for it was let in after " +
                        std::to_string(before) + " of them");
    }
    me.run.gap(me);
  }
  for (arrival& each : to.arrivals) {
    send_command(each, quit);
  }
}

}  // namespace

void order(phase_run& on) {
  const std::uint64_t most = on.options.parks ? max_sleeping : max_polling;
  const auto to = std::make_shared<arrival_queue>(on.mutexes()[0], std::min(on.plan.threads, most));
  on.add_worker("sequencer", [to](worker& me) { sequence(me, *to); });
  for (arrival& each : to->arrivals) {
    each.runner = &on.add_worker("arrival", [to, &each](worker& me) { arrive(me, *to, each); });
  }
}

}  // namespace torture
