// Threads that use one mutex or several in a pattern that may change in mid-run: throughput, also
// over time, and the longest wait.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench.hpp"
#include "progress.hpp"
#include "tally.hpp"
#include "workload/random.hpp"

namespace bench {
namespace {

// Threads that have not ended so long after they were stopped are left to the end of the process:
// a strict queue of spinning threads can take longer than the measurement to empty.
constexpr std::uint64_t patience_ns = 300'000'000;
// Work between two attempts of a trylock loop.
constexpr std::uint64_t loops_between_attempts = 25;
// Of a timed lock; a thread that gives up tries again.
constexpr std::uint64_t deadline_ns = 1'000'000'000;

// The mutex is beside the data that it guards, as in most programs.
struct alignas(64) guarded_mutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // Written under the mutex only, by plain instructions: if it falls behind the threads' counts,
  // two threads were inside at once.
  std::uint64_t guarded = 0;
};

struct regime {
  std::uint64_t threads;
  std::uint64_t section_loops;
  std::uint64_t gap_loops;
};

// An exponential distribution with mean 1, in 256 steps of equal probability.
class exponential_steps {
 public:
  exponential_steps() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      steps_[i] = -std::log1p(-(static_cast<double>(i) + 0.5) / static_cast<double>(steps_.size()));
    }
  }
  [[nodiscard]] double draw(random_source& random) const { return steps_[random.next() >> 56]; }

 private:
  std::array<double, 256> steps_{};
};

struct load {
  std::array<regime, 2> regimes{};
  std::uint64_t locks = 1;
  std::uint64_t long_loops = 0;
  std::uint64_t long_one_in = 0;
  bool exponential = false;
  bool trylock = false;
  bool timed = false;
  std::uint64_t burst = 0;
  std::uint64_t idle_ns = 0;
  std::uint64_t capacity = 0;
  std::uint64_t period_ns = 0;
  std::uint64_t period_acquisitions = 0;
  // Clock readings at which the first period begins, and what a period is in ticks.
  std::uint64_t origin_ns = 0;
  std::uint64_t origin_ticks = 0;
  std::uint64_t period_ticks = 0;

  exponential_steps gaps;
  gate start;
  alignas(cache_line_pair) std::atomic<bool> stop{false};
  alignas(cache_line_pair) std::atomic<std::uint32_t> ended{0};
  // Of the bounded queue, guarded by the first mutex.
  alignas(cache_line_pair) pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
  alignas(cache_line_pair) pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
  std::uint64_t queued = 0;
  std::unique_ptr<guarded_mutex[]> mutexes;
};

timespec time_at(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
}

void sleep_until(std::uint64_t ns) {
  const timespec when = time_at(ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

struct alignas(cache_line_pair) worker {
  load* shared = nullptr;
  progress_tally* progress = nullptr;
  std::size_t index = 0;
  bool measures_waits = true;
  pthread_t thread{};
  random_source random{0};
  // Of the regimes: the current one.
  std::size_t phase = 0;
  std::uint64_t in_burst = 0;
  std::uint64_t done = 0;

  bool is_stopped() const { return shared->stop.load(std::memory_order_relaxed); }

  // Returns false if this thread is idle in the current regime; it has slept until the next one.
  bool follows_time() {
    const load& l = *shared;
    if (l.period_ticks != 0) {
      const std::uint64_t now = ticks();
      phase = now < l.origin_ticks ? 0 : (now - l.origin_ticks) / l.period_ticks % 2;
    }
    if (index < l.regimes[phase].threads) {
      return true;
    }
    const std::uint64_t now = now_ns();
    const std::uint64_t passed = now < l.origin_ns ? 0 : (now - l.origin_ns) / l.period_ns + 1;
    // The stop has to be seen in a long period too.
    sleep_until(std::min(l.origin_ns + std::max<std::uint64_t>(passed, 1) * l.period_ns,
                         now + patience_ns / 3));
    return false;
  }

  // Returns false if it was stopped before it had the mutex.
  bool acquire(pthread_mutex_t& mutex) {
    if (shared->timed && index % 2 == 0) {
      return acquire_in_time(mutex);
    }
    if (!shared->trylock) {
      must(pthread_mutex_lock(&mutex), "pthread_mutex_lock");
      return true;
    }
    for (int result = 0; (result = pthread_mutex_trylock(&mutex)) != 0;) {
      if (result != EBUSY) {
        must(result, "pthread_mutex_trylock");
      }
      if (is_stopped()) {
        return false;
      }
      spin_loops(loops_between_attempts);
    }
    return true;
  }

  bool acquire_in_time(pthread_mutex_t& mutex) {
    for (int result = ETIMEDOUT; result == ETIMEDOUT;) {
      if (is_stopped()) {
        return false;
      }
      const timespec until = time_at(now_ns() + deadline_ns);
      result = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
      if (result != ETIMEDOUT) {
        must(result, "pthread_mutex_clocklock");
      }
    }
    return true;
  }

  void section(guarded_mutex& s) {
    const load& l = *shared;
    const std::uint64_t before = s.guarded;
    if (l.period_acquisitions != 0) {
      phase = before / l.period_acquisitions % 2;
    }
    const bool is_long = l.long_one_in != 0 && random.below(l.long_one_in) == 0;
    spin_loops(is_long ? l.long_loops : l.regimes[phase].section_loops);
    s.guarded = before + 1;
  }

  // Returns false if it was stopped before it had the mutex.
  bool pass(guarded_mutex& s) {
    if (!acquire(s.mutex)) {
      return false;
    }
    section(s);
    must(pthread_mutex_unlock(&s.mutex), "pthread_mutex_unlock");
    return true;
  }

  // Puts a message into the bounded queue, or takes one out. Returns false if it was stopped.
  bool transfer(guarded_mutex& s) {
    load& l = *shared;
    const bool puts = index % 2 == 0;
    must(pthread_mutex_lock(&s.mutex), "pthread_mutex_lock");
    while (!is_stopped() && l.queued == (puts ? l.capacity : 0)) {
      must(pthread_cond_wait(puts ? &l.not_full : &l.not_empty, &s.mutex), "pthread_cond_wait");
    }
    const bool continues = !is_stopped();
    if (continues) {
      section(s);
      l.queued += puts ? 1 : static_cast<std::uint64_t>(-1);
      must(pthread_cond_signal(puts ? &l.not_empty : &l.not_full), "pthread_cond_signal");
    }
    must(pthread_mutex_unlock(&s.mutex), "pthread_mutex_unlock");
    return continues;
  }

  void gap() {
    const load& l = *shared;
    const std::uint64_t loops = l.regimes[phase].gap_loops;
    if (loops != 0) {
      const double mean = static_cast<double>(loops);
      spin_loops(l.exponential ? static_cast<std::uint64_t>(mean * l.gaps.draw(random)) : loops);
    }
    if (l.burst != 0 && ++in_burst == l.burst) {
      in_burst = 0;
      // All threads wake at the same time.
      sleep_until((now_ns() / l.idle_ns + 1) * l.idle_ns);
    }
  }

  template <bool MeasuresWaits>
  void run() {
    load& l = *shared;
    while (!is_stopped()) {
      if (!follows_time()) {
        continue;
      }
      guarded_mutex& s = l.mutexes[l.locks == 1 ? 0 : random.below(l.locks)];
      if constexpr (MeasuresWaits) {
        progress->begins_to_wait();
      }
      if (!(l.capacity != 0 ? transfer(s) : pass(s))) {
        break;
      }
      if constexpr (MeasuresWaits) {
        progress->has_unlocked();
      }
      progress->acquisitions.store(++done, std::memory_order_relaxed);
      gap();
    }
  }
};

void* work(void* at) {
  auto* const me = static_cast<worker*>(at);
  me->shared->start.pass();
  me->measures_waits ? me->run<true>() : me->run<false>();
  me->shared->ended.fetch_add(1);
  return nullptr;
}

// Wakes the threads that sleep in the stopped queue. A thread of its own, since it needs the mutex.
void* empty_queue(void* at) {
  load& l = *static_cast<load*>(at);
  must(pthread_mutex_lock(&l.mutexes[0].mutex), "pthread_mutex_lock");
  must(pthread_cond_broadcast(&l.not_empty), "pthread_cond_broadcast");
  must(pthread_cond_broadcast(&l.not_full), "pthread_cond_broadcast");
  must(pthread_mutex_unlock(&l.mutexes[0].mutex), "pthread_mutex_unlock");
  return nullptr;
}

// Processes that use a processor each, on as many processors as there are hogs, until they are
// killed; they do not outlive this process.
std::vector<pid_t> start_hogs(std::uint64_t count) {
  std::vector<pid_t> hogs;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<std::int64_t> allowed;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      allowed.push_back(static_cast<std::int64_t>(cpu));
    }
  }
  const pid_t parent = getpid();
  for (std::uint64_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      fail("cannot start a hog");
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) {
        _exit(0);
      }
      pin_to(allowed[i % allowed.size()]);
      for (;;) {
        spin_loops(1'000'000);
      }
    }
    hogs.push_back(child);
  }
  return hogs;
}

void end_hogs(const std::vector<pid_t>& hogs) {
  for (const pid_t hog : hogs) {
    kill(hog, SIGKILL);
    waitpid(hog, nullptr, 0);
  }
}

load& read_load(const options& given) {
  // Never destroyed: threads may still use it when the process ends.
  auto& l = *new load;
  const work_scale scale(given.real("loops-per-us"));
  const std::uint64_t threads = given.count("threads", 1);
  const auto loops = [&](const char* name) { return scale.loops(given.real(name)); };
  const auto or_else = [&](const char* name, double otherwise) {
    return given.real(name) < 0 ? otherwise : given.real(name);
  };
  l.regimes[0] = {threads, loops("section-ns"), loops("gap-ns")};
  l.regimes[1] = {given.count("then-threads") != 0 ? given.count("then-threads") : threads,
                  scale.loops(or_else("then-section-ns", given.real("section-ns"))),
                  scale.loops(or_else("then-gap-ns", given.real("gap-ns")))};
  l.locks = given.count("locks", 1);
  l.long_loops = loops("long-ns");
  l.long_one_in = given.count("long-one-in");
  l.exponential = given.count("exponential") != 0;
  l.trylock = given.count("trylock") != 0;
  l.timed = given.count("timed") != 0;
  l.burst = given.count("burst");
  l.idle_ns = given.count("idle-us", 1) * 1000;
  l.capacity = given.count("queue");
  l.period_ns = static_cast<std::uint64_t>(given.real("period-us") * 1e3);
  l.period_acquisitions = given.count("period-acquisitions");
  if (l.capacity != 0 && (threads < 2 || l.trylock || l.locks != 1)) {
    refuse("option '--queue' needs two threads or more, one mutex and no trylock loop");
  }
  if (l.regimes[0].threads != l.regimes[1].threads && l.period_ns == 0) {
    refuse("option '--then-threads' needs '--period-us'");
  }
  l.mutexes = std::make_unique<guarded_mutex[]>(l.locks);
  return l;
}

struct sample {
  std::uint64_t ns;
  std::uint64_t acquisitions;
};

std::uint64_t acquisitions_of(const progress_tally* tallies, std::size_t count) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    all += tallies[i].acquisitions.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace

int regimes(int argc, char** argv) {
  const options given(argc, argv,
                      {{"threads", 2},      {"seconds", 0.2},    {"warm-up", 0.02},
                       {"loops-per-us", 0}, {"section-ns", 100}, {"gap-ns", 0},
                       {"exponential", 0},  {"long-ns", 0},      {"long-one-in", 0},
                       {"locks", 1},        {"hogs", 0},         {"burst", 0},
                       {"idle-us", 1000},   {"queue", 0},        {"trylock", 0},
                       {"timed", 0},        {"then-threads", 0}, {"then-section-ns", -1},
                       {"then-gap-ns", -1}, {"period-us", 0},    {"period-acquisitions", 0},
                       {"sample-us", 0}});
  load& l = read_load(given);
  const auto length = static_cast<std::uint64_t>(given.real("seconds") * 1e9);
  const auto warm_up = static_cast<std::uint64_t>(given.real("warm-up") * 1e9);
  const std::uint64_t step = given.count("sample-us") * 1000;
  const std::size_t threads = std::max(l.regimes[0].threads, l.regimes[1].threads);
  const std::vector<pid_t> hogs = start_hogs(given.count("hogs"));

  auto* const tallies = new progress_tally[threads];
  auto* const workers = new worker[threads];
  for (std::size_t i = 0; i < threads; ++i) {
    workers[i].shared = &l;
    workers[i].progress = &tallies[i];
    workers[i].index = i;
    // Alone it never waits, and the clock would take longer than the mutex.
    workers[i].measures_waits = threads > 1;
    workers[i].random = random_source(i);
    must(pthread_create(&workers[i].thread, nullptr, work, &workers[i]), "pthread_create");
  }
  l.start.await(static_cast<std::uint32_t>(threads));

  const std::uint64_t calibrated_ns = now_ns();
  const std::uint64_t calibrated_ticks = ticks();
  sleep_ns(10'000'000);
  const double ticks_per_ns = static_cast<double>(ticks() - calibrated_ticks) /
                              static_cast<double>(now_ns() - calibrated_ns);
  l.origin_ns = now_ns() + warm_up;
  l.origin_ticks =
      ticks() + static_cast<std::uint64_t>(static_cast<double>(warm_up) * ticks_per_ns);
  l.period_ticks = static_cast<std::uint64_t>(static_cast<double>(l.period_ns) * ticks_per_ns);
  l.start.open();
  sleep_until(l.origin_ns);

  const switches before = switches_so_far();
  const double used_before = processor_seconds_so_far();
  const std::uint64_t started = now_ns();
  std::vector<sample> samples{{started, acquisitions_of(tallies, threads)}};
  while (samples.back().ns - started < length) {
    const std::uint64_t end = started + length;
    sleep_until(step == 0 ? end : std::min(end, started + samples.size() * step));
    samples.push_back({now_ns(), acquisitions_of(tallies, threads)});
  }
  const std::uint64_t longest = longest_wait(tallies, threads);
  const double used = processor_seconds_so_far() - used_before;
  const switches after = switches_so_far();
  l.stop.store(true);

  result measured("regimes", "measured");
  measured.field("threads", threads)
      .field("began_ns", started)
      .field("seconds", static_cast<double>(samples.back().ns - started) / 1e9)
      .field("processor_seconds", used)
      .field("acquisitions", samples.back().acquisitions - samples.front().acquisitions)
      .field("longest_wait_ns", static_cast<double>(longest) / ticks_per_ns)
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary);
  if (step != 0) {
    std::vector<std::uint64_t> times;
    std::vector<std::uint64_t> counts;
    for (const sample& each : samples) {
      times.push_back(each.ns - started);
      counts.push_back(each.acquisitions - samples.front().acquisitions);
    }
    measured.field("sample_ns", times).field("sample_acquisitions", counts);
  }
  add_origin(measured);
  measured.print();

  pthread_t waker;
  if (l.capacity != 0) {
    must(pthread_create(&waker, nullptr, empty_queue, &l), "pthread_create");
  }
  const std::uint64_t deadline = now_ns() + patience_ns;
  while (l.ended.load() != threads && now_ns() < deadline) {
    sleep_ns(1'000'000);
  }
  end_hogs(hogs);
  result final("regimes", "final");
  final.field("ended", static_cast<std::uint64_t>(l.ended.load()));
  if (l.ended.load() == threads) {
    std::uint64_t guarded = 0;
    for (std::uint64_t i = 0; i < l.locks; ++i) {
      guarded += l.mutexes[i].guarded;
    }
    final.field("acquisitions", acquisitions_of(tallies, threads)).field("guarded", guarded);
  }
  final.print();
  // Not exit: threads may still be inside the lock under test.
  std::_Exit(0);
}

}  // namespace bench
