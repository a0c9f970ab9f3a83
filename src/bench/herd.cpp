// A broadcast to many waiters: the time until all have had the mutex, and the number of context
// switches.
//
// Every waiter wakes up needing the same mutex. If all are made runnable at once, all but one
// find it taken and go back to sleep; if each becomes runnable when its turn comes, none does.
#include <climits>
#include <vector>

#include "workload/catalogue.hpp"
#include "workload/settings.hpp"

namespace bench {
namespace {

struct herd_state {
  alignas(cache_line_pair) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  alignas(cache_line_pair) pthread_cond_t wake_up = PTHREAD_COND_INITIALIZER;

  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t generation = 0;
  std::uint64_t waiting = 0;
  std::uint64_t done = 0;
  std::uint64_t sections = 0;
  std::uint64_t spurious = 0;

  std::uint64_t finished_at = 0;
  alignas(cache_line_pair) std::atomic<std::uint32_t> finished{0};

  // Where a waiter rests between two broadcasts when it does not go straight back to the
  // condition variable: no pthread object, so that only the broadcast is measured.
  alignas(cache_line_pair) std::atomic<std::uint32_t> rest{0};
  alignas(cache_line_pair) std::atomic<std::uint64_t> resting{0};

  std::uint64_t waiters = 0;
  std::uint64_t rounds = 0;
  std::uint64_t section_loops = 0;
  bool rejoin = false;
};

void* wait_for_broadcasts(void* at) {
  herd_state& h = *static_cast<herd_state*>(at);
  must(pthread_mutex_lock(&h.mutex), "pthread_mutex_lock");
  for (std::uint64_t round = 1; round <= h.rounds; ++round) {
    ++h.waiting;
    bool woken = false;
    while (h.generation < round) {
      h.spurious += woken ? 1 : 0;
      must(pthread_cond_wait(&h.wake_up, &h.mutex), "pthread_cond_wait");
      woken = true;
    }
    spin_loops(h.section_loops);
    ++h.sections;
    if (++h.done == h.waiters) {
      h.finished_at = now_ns();
      h.finished.store(1);
      futex_wake(h.finished, 1);
    }
    must(pthread_mutex_unlock(&h.mutex), "pthread_mutex_unlock");
    if (!h.rejoin) {
      h.resting.fetch_add(1);
      while (h.rest.load() < round) {
        futex_wait(h.rest, static_cast<std::uint32_t>(round - 1));
      }
    }
    must(pthread_mutex_lock(&h.mutex), "pthread_mutex_lock");
  }
  must(pthread_mutex_unlock(&h.mutex), "pthread_mutex_unlock");
  return nullptr;
}

constexpr std::uint64_t poll_ns = 1000000;
// Long enough for the last thread that announced its sleep to be asleep.
constexpr std::uint64_t pause_ns = 3000000;

// Returns when every waiter is inside pthread_cond_wait: it counts itself under the mutex, and
// the wait releases the mutex only once the waiter can be woken.
void await_waiters(herd_state& h) {
  for (;;) {
    must(pthread_mutex_lock(&h.mutex), "pthread_mutex_lock");
    const bool all = h.waiting == h.waiters;
    must(pthread_mutex_unlock(&h.mutex), "pthread_mutex_unlock");
    if (all) {
      break;
    }
    sleep_ns(poll_ns);
  }
  sleep_ns(pause_ns);
}

void measure_broadcast(herd_state& h, std::uint64_t round, bool unlocked) {
  await_waiters(h);
  h.finished.store(0);
  h.resting.store(0);

  const switches before = switches_so_far();
  must(pthread_mutex_lock(&h.mutex), "pthread_mutex_lock");
  h.generation = round;
  h.waiting = 0;
  h.done = 0;
  const std::uint64_t started = now_ns();
  if (unlocked) {
    must(pthread_mutex_unlock(&h.mutex), "pthread_mutex_unlock");
    must(pthread_cond_broadcast(&h.wake_up), "pthread_cond_broadcast");
  } else {
    must(pthread_cond_broadcast(&h.wake_up), "pthread_cond_broadcast");
    must(pthread_mutex_unlock(&h.mutex), "pthread_mutex_unlock");
  }
  const std::uint64_t returned = now_ns();
  while (h.finished.load() == 0) {
    futex_wait(h.finished, 0);
  }
  if (!h.rejoin) {
    while (h.resting.load() < h.waiters) {
      sleep_ns(poll_ns);
    }
    sleep_ns(pause_ns);
  } else if (round < h.rounds) {
    await_waiters(h);
  }
  const switches after = switches_so_far();

  result line("herd", "broadcast");
  line.field("round", round)
      .field("waiters", h.waiters)
      .field("wall_ns", h.finished_at - started)
      .field("call_ns", returned - started)
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary);
  add_origin(line);
  line.print();
  h.rest.store(static_cast<std::uint32_t>(round));
  futex_wake(h.rest, INT_MAX);
}

int measure_herd(const description& /*about*/, const settings& given) {
  static herd_state h;
  h.waiters = given.count("waiters", 1);
  h.rounds = given.count("rounds", 1);
  h.section_loops = given.length("section");
  h.rejoin = given.is("rejoin");
  const bool unlocked = given.is("unlocked");

  // A thousand default stacks would reserve 8 GB of address space, which a container may not
  // grant; a waiter uses a few hundred bytes and a preloaded library's thread-local data.
  constexpr std::size_t stack_size = 262144;
  pthread_attr_t small;
  must(pthread_attr_init(&small), "pthread_attr_init");
  must(pthread_attr_setstacksize(&small, stack_size), "pthread_attr_setstacksize");
  std::vector<pthread_t> threads(h.waiters);
  for (pthread_t& t : threads) {
    must(pthread_create(&t, &small, wait_for_broadcasts, &h), "pthread_create");
  }
  for (std::uint64_t round = 1; round <= h.rounds; ++round) {
    measure_broadcast(h, round, unlocked);
  }
  for (const pthread_t t : threads) {
    must(pthread_join(t, nullptr), "pthread_join");
  }
  result("herd", "final")
      .field("waiters", h.waiters)
      .field("rounds", h.rounds)
      .field("sections", h.sections)
      .field("spurious", h.spurious)
      .print();
  return 0;
}

}  // namespace

const description herd{
    .name = "herd",
    .measures = "a broadcast to many waiters of one condition variable",
    .parameters = {{"waiters", 1000, "", "threads that wait", 1},
                   {"rounds", 5, "", "broadcasts, one after the other", 1},
                   {"section-ns", 5000, "ns", "work of a woken thread while it holds the mutex"},
                   {"unlocked", 0, "", "1 broadcasts without the mutex"},
                   {"rejoin", 0, "", "1 lets a woken thread wait again at once"}},
    .is_listed = false,
    .run = measure_herd,
};

}  // namespace bench
