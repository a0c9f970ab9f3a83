// A program that measures and prints the times of its sections, waits and handovers: its profile has
// to agree with them. Each part has separate mutexes.
#include <algorithm>

#include "../support/check.hpp"

namespace {

using counter = std::uint64_t;

counter now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<counter>(now.tv_sec) * 1000000000 + static_cast<counter>(now.tv_nsec);
}

void busy_for(counter ns) {
  const counter begin = now_ns();
  while (now_ns() - begin < ns) {
  }
}

// Several mutexes, since measurements of one may be disturbed, each used so often that the cost of
// its first use does not count.
constexpr unsigned mutexes = 12;
constexpr unsigned rounds = 20;

// Held so long that the profiler measures each section.
pthread_mutex_t held_mutexes[mutexes];
// Waited for by a thread while another thread holds them.
pthread_mutex_t waited_mutexes[mutexes];
// Held in short sections, some of which the profiler samples.
pthread_mutex_t short_mutex = PTHREAD_MUTEX_INITIALIZER;
// Acquired by several threads.
pthread_mutex_t counted_mutex = PTHREAD_MUTEX_INITIALIZER;
// For futile wake-ups.
pthread_mutex_t futile_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t futile_cond = PTHREAD_COND_INITIALIZER;
// Tried while it is held.
pthread_mutex_t tried_mutex = PTHREAD_MUTEX_INITIALIZER;

using figures = std::vector<counter>;

figures hold() {
  figures held(mutexes, 0);
  for (unsigned i = 0; i < mutexes * rounds; ++i) {
    pthread_mutex_lock(&held_mutexes[i / rounds]);
    const counter begin = now_ns();
    busy_for(100000);
    held[i / rounds] += now_ns() - begin;
    pthread_mutex_unlock(&held_mutexes[i / rounds]);
  }
  return held;
}

counter hold_briefly(counter times) {
  figures held;
  for (counter i = 0; i < times; ++i) {
    pthread_mutex_lock(&short_mutex);
    const counter begin = now_ns();
    busy_for(2500);
    held.push_back(now_ns() - begin);
    pthread_mutex_unlock(&short_mutex);
    busy_for(i % 3 == 0 ? 1500 : 300);
  }
  std::sort(held.begin(), held.end());
  return held[held.size() / 2];
}

struct progress {
  std::atomic<counter> taken{0};
  std::atomic<counter> asked{0};
  std::atomic<counter> released{0};
  std::atomic<counter> done{0};
};

struct waiting {
  figures waited;
  figures handed_over;
};

// The holder keeps the processor for a millisecond after it has released the mutex, so that each
// handover takes much longer than what either thread does between its clock and the mutex: a batch
// thread that is woken does not preempt it.
waiting wait_for_holder() {
  const check::Confined to_one_processor{1};
  progress steps;
  std::thread holder([&steps, waiter = gettid()] {
    for (unsigned i = 0; i < mutexes * rounds; ++i) {
      pthread_mutex_lock(&waited_mutexes[i / rounds]);
      steps.taken.store(i + 1);
      while (steps.asked.load() != i + 1 || !check::sleeps(waiter)) {
        sched_yield();
      }
      busy_for(500000);
      steps.released.store(now_ns());
      pthread_mutex_unlock(&waited_mutexes[i / rounds]);
      busy_for(1000000);
      while (steps.done.load() != i + 1) {
        sched_yield();
      }
    }
  });
  sched_param priority{};
  CHECK(sched_setscheduler(0, SCHED_BATCH, &priority) == 0);
  waiting result{figures(mutexes, 0), figures(mutexes, 0)};
  for (unsigned i = 0; i < mutexes * rounds; ++i) {
    while (steps.taken.load() != i + 1) {
      sched_yield();
    }
    steps.asked.store(i + 1);
    const counter begin = now_ns();
    pthread_mutex_lock(&waited_mutexes[i / rounds]);
    const counter end = now_ns();
    result.waited[i / rounds] += end - begin;
    result.handed_over[i / rounds] += end - steps.released.load();
    pthread_mutex_unlock(&waited_mutexes[i / rounds]);
    steps.done.store(i + 1);
  }
  holder.join();
  CHECK(sched_setscheduler(0, SCHED_OTHER, &priority) == 0);
  return result;
}

counter count(counter threads, counter times) {
  std::vector<std::thread> counters;
  for (counter i = 0; i < threads; ++i) {
    counters.emplace_back([times] {
      for (counter n = 0; n < times; ++n) {
        pthread_mutex_lock(&counted_mutex);
        pthread_mutex_unlock(&counted_mutex);
      }
    });
  }
  for (std::thread& each : counters) {
    each.join();
  }
  return threads * times;
}

counter wake_futilely(counter times) {
  bool is_over = false;
  bool waits = false;
  std::thread sleeper([&] {
    pthread_mutex_lock(&futile_mutex);
    while (!is_over) {
      waits = true;
      pthread_cond_wait(&futile_cond, &futile_mutex);
    }
    pthread_mutex_unlock(&futile_mutex);
  });
  for (counter i = 0; i <= times; ++i) {
    for (bool is_waiting = false; !is_waiting; sched_yield()) {
      pthread_mutex_lock(&futile_mutex);
      is_waiting = waits;
      if (is_waiting) {
        waits = false;
        is_over = i == times;
        pthread_cond_signal(&futile_cond);
      }
      pthread_mutex_unlock(&futile_mutex);
    }
  }
  sleeper.join();
  return times;
}

counter fail_trylocks(counter times) {
  pthread_mutex_lock(&tried_mutex);
  std::thread other([times] {
    for (counter i = 0; i < times; ++i) {
      CHECK(pthread_mutex_trylock(&tried_mutex) == EBUSY);
    }
  });
  other.join();
  pthread_mutex_unlock(&tried_mutex);
  return times;
}

void print(const char* name, const figures& all) {
  std::printf("\"%s\":[", name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf(i == 0 ? "%lu" : ",%lu", all[i]);
  }
  std::printf("],");
}

}  // namespace

int main() {
  constexpr counter short_holds = 20000;
  std::printf("{\"rounds\":%u,", rounds);
  print("held", hold());
  const waiting waited = wait_for_holder();
  print("waited", waited.waited);
  print("handed_over", waited.handed_over);
  std::printf("\"short_holds\":%lu,\"short_held\":%lu,", short_holds, hold_briefly(short_holds));
  std::printf("\"counted\":%lu,\"futile\":%lu,\"failed\":%lu}\n", count(3, 200000),
              wake_futilely(50), fail_trylocks(1000));
  return 0;
}
