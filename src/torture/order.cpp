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

struct alignas(cache_line_pair) arrival {
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

void arrive(worker& me, arrival_queue& queue, arrival& own) {
  for (;;) {
    me.does(activity::halted);
    while (own.command.load() == idle) {
      futex_wait(own.command, idle);
    }
    if (own.command.load() == quit) {
      return;
    }
    own.used_before = now(CLOCK_THREAD_CPUTIME_ID);
    if (own.gives_up) {
      if (queue.mutex.lock_within(me, me.draw.between(1, 2 * ms))) {
        queue.mutex.unlock(me);
      }
    } else {
      me.does(activity::locks, &queue.mutex);
      own.called.store(true, std::memory_order_release);
      queue.mutex.lock(me);
      own.rank = ++queue.admitted;
      queue.mutex.unlock(me);
    }
    me.does(activity::halted);
    send_command(own, idle);
  }
}

void check(const arrival_queue& queue, const std::vector<arrival*>& arrived) {
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    if (arrived[i]->rank != i + 1) {
      std::string ranks;
      for (const arrival* each : arrived) {
        ranks += " " + std::to_string(each->rank);
      }
      fail("order", "threads that queued for mutex " + std::to_string(queue.mutex.number) +
                        " one after the other were admitted in the order" + ranks);
    }
  }
}

void sequence(worker& me, arrival_queue& queue) {
  while (!me.run.over()) {
    std::vector<arrival*> arrived;
    queue.mutex.lock(me);
    queue.admitted = 0;
    const std::uint64_t first = me.draw.below(queue.arrivals.size());
    // On a slow machine, stop queueing before the first one's patience ends.
    const std::uint64_t until = me.run.tick() + me.run.patience_ticks() / 4;
    for (std::uint64_t i = me.draw.between(1, queue.arrivals.size());
         i > 0 && me.run.tick() < until; --i) {
      arrival& next = queue.arrivals[(first + i) % queue.arrivals.size()];
      next.called.store(false);
      next.gives_up = me.draw.one_in(5);
      me.does(activity::waits_for_others);
      send_command(next, queue_up);
      if (next.gives_up) {
        await_idle(next);
      } else {
        await_queued(next);
        arrived.push_back(&next);
      }
    }
    queue.mutex.unlock(me);
    // This thread must be admitted after all of them.
    queue.mutex.lock(me);
    const std::uint64_t before = queue.admitted;
    queue.mutex.unlock(me);
    me.does(activity::waits_for_others);
    for (arrival& each : queue.arrivals) {
      await_idle(each);
    }
    check(queue, arrived);
    if (before != arrived.size()) {
      fail("order", "a thread that queued for mutex " + std::to_string(queue.mutex.number) +
                        " when " + std::to_string(arrived.size()) +
                        " others waited for it was admitted after " + std::to_string(before) +
                        " of them");
    }
    me.run.gap(me);
  }
  for (arrival& each : queue.arrivals) {
    send_command(each, quit);
  }
}

}  // namespace

void order(phase_run& on) {
  const std::uint64_t most = on.options.parks ? max_sleeping : max_polling;
  const auto queue =
      std::make_shared<arrival_queue>(on.mutexes()[0], std::min(on.plan.threads, most));
  on.add_worker("sequencer", [queue](worker& me) { sequence(me, *queue); });
  for (arrival& each : queue->arrivals) {
    each.runner =
        &on.add_worker("arrival", [queue, &each](worker& me) { arrive(me, *queue, each); });
  }
}

}  // namespace torture
