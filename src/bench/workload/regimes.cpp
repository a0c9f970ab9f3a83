// Threads that use one mutex or several in a pattern that may change in mid-run, for `bench regret`:
// throughput, also over time, and the longest wait.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>
#include <vector>

#include "catalogue.hpp"
#include "native.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

// Work between two attempts of a trylock loop.
constexpr std::uint64_t loops_between_attempts = 25;
// Of a timed lock; a thread that gives up tries again.
constexpr std::uint64_t deadline_ns = 1'000'000'000;

// The mutex is beside the data that it guards, as in most programs.
struct alignas(64) compact_mutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t taken = 0;
  std::uint64_t sections = 0;
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

// Processes that use a processor each, on as many processors as there are hogs. They end with this
// process.
void start_hogs(std::uint64_t count) {
  const auto& allowed = allowed_processors();
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
  }
}

timespec time_at(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
}

// A bounded queue, guarded by the mutex of the same number.
struct message_queue {
  condition not_empty;
  condition not_full;
  std::uint64_t queued = 0;
};

struct load {
  explicit load(const settings& given)
      : capacity{given.count("queue")},
        stages{given.count("stages", 2)},
        producers{given.count("producers")},
        mutexes(capacity != 0 ? stages - 1 : given.count("locks", 1)),
        queues(capacity != 0 ? stages - 1 : 0),
        long_loops{given.length("long")},
        long_one_in{given.count("long-one-in")},
        exponential{given.is("exponential")},
        trylock{given.is("trylock")},
        timed{given.is("timed")},
        burst{given.count("burst")},
        idle_ns{given.count("idle-us", 1) * 1000},
        period_ns{static_cast<std::uint64_t>(given.real("period-us") * 1e3)},
        period_acquisitions{given.count("period-acquisitions")},
        sample_us{given.count("sample-us")} {
    const auto or_first = [&](const std::string& what) {
      return given.real("then-" + what + "-ns") < 0 ? given.length(what)
                                                    : given.length("then-" + what);
    };
    const std::uint64_t count = given.threads();
    const std::uint64_t then = given.count("then-threads");
    regimes = {{{count, given.length("section"), given.length("gap")},
                {then != 0 ? then : count, or_first("section"), or_first("gap")}}};
    if (capacity != 0 && (count < stages || trylock || given.count("locks", 1) != 1)) {
      refuse("option '--queue' needs a thread for each stage, one mutex and no trylock loop");
    }
    if (producers != 0 && (capacity == 0 || stages != 2 || producers >= count)) {
      refuse("option '--producers' needs '--queue', two stages and more threads than producers");
    }
    if (regimes[0].threads != regimes[1].threads && period_ns == 0) {
      refuse("option '--then-threads' needs '--period-us'");
    }
    start_hogs(given.count("hogs"));
  }

  load(const load&) = delete;
  load& operator=(const load&) = delete;
  ~load() {
    if (waker) {
      must(pthread_join(*waker, nullptr), "pthread_join");
    }
  }

  [[nodiscard]] std::uint64_t threads() const {
    return std::max(regimes[0].threads, regimes[1].threads);
  }
  static constexpr std::uint64_t patience_ns = 300'000'000;
  [[nodiscard]] std::uint64_t sample_ns() const { return sample_us * 1000; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(load& /*l*/, const settings& /*given*/, std::size_t number)
        : index{number}, random{number} {}
    std::size_t index;
    random_source random;
    // Of the regimes: the current one.
    std::size_t phase = 0;
    std::uint64_t in_burst = 0;
  };

  void prepare() {
    if (period_ns != 0) {
      const std::uint64_t ns = now_ns();
      const std::uint64_t from = ticks();
      sleep_ns(10'000'000);
      ticks_per_ns = static_cast<double>(ticks() - from) / static_cast<double>(now_ns() - ns);
    }
  }

  void starts(std::uint64_t at) {
    const auto in_ticks = [&](std::uint64_t length) {
      return static_cast<std::uint64_t>(static_cast<double>(length) * ticks_per_ns);
    };
    origin_ns = at;
    origin_ticks = ticks() + in_ticks(at - now_ns());
    period_ticks = in_ticks(period_ns);
  }

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    if (!follows_time(me)) {
      return 0;
    }
    if (capacity != 0) {
      return pass_on(me, meter) ? 1 : 0;
    }
    compact_mutex& s = mutexes[mutexes.size() == 1 ? 0 : me.random.below(mutexes.size())];
    if (!pass(me, s, meter)) {
      return 0;
    }
    spend_gap(me);
    return 1;
  }

  // Takes a message from the queue before this thread's stage, works, and puts it into the one
  // behind; the first and the last stage have one queue only. Returns false if it was stopped.
  template <class Meter>
  bool pass_on(thread_state& me, Meter& meter) {
    const std::size_t stage = producers != 0 ? (me.index < producers ? 0 : 1)
                                             : me.index % static_cast<std::size_t>(stages);
    if (stage != 0 && !transfer(me, stage - 1, false, meter)) {
      return false;
    }
    // The producers of a pool only hand out work.
    if (producers == 0 || stage != 0) {
      spend_gap(me);
    }
    return stage + 1 == stages || transfer(me, stage, true, meter);
  }

  // Returns false if this thread is idle in the current regime; it has slept until the next one.
  bool follows_time(thread_state& me) const {
    if (period_ticks != 0) {
      const std::uint64_t now = ticks();
      me.phase = now < origin_ticks ? 0 : (now - origin_ticks) / period_ticks % 2;
    }
    if (me.index < regimes[me.phase].threads) {
      return true;
    }
    const std::uint64_t now = now_ns();
    const std::uint64_t passed = now < origin_ns ? 0 : (now - origin_ns) / period_ns + 1;
    // The stop has to be seen in a long period too.
    sleep_until(std::min(origin_ns + std::max<std::uint64_t>(passed, 1) * period_ns,
                         now + patience_ns / 3));
    return false;
  }

  // Returns false if the thread was stopped before it had the mutex.
  template <class Meter>
  bool pass(thread_state& me, compact_mutex& s, Meter& meter) {
    const bool gives_up = timed && me.index % 2 == 0;
    if (gives_up || trylock) {
      if (!meter.lock_by(s, [&](pthread_mutex_t* m) { return gives_up ? in_time(m) : tried(m); })) {
        return false;
      }
    } else {
      meter.lock(s);
    }
    section(me, s);
    meter.unlock(s);
    return true;
  }

  bool tried(pthread_mutex_t* mutex) const {
    while (!mutex_calls<pthread_mutex_t>::try_lock(mutex)) {
      if (is_stopped()) {
        return false;
      }
      spin_loops(loops_between_attempts);
    }
    return true;
  }

  bool in_time(pthread_mutex_t* mutex) const {
    while (!is_stopped()) {
      const timespec until = time_at(now_ns() + deadline_ns);
      const int error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
      if (error != ETIMEDOUT) {
        must(error, "pthread_mutex_clocklock");
        return true;
      }
    }
    return false;
  }

  void section(thread_state& me, compact_mutex& s) const {
    const std::uint64_t before = s.sections;
    if (period_acquisitions != 0) {
      me.phase = before / period_acquisitions % 2;
    }
    const bool is_long = long_one_in != 0 && me.random.below(long_one_in) == 0;
    spin_loops(is_long ? long_loops : regimes[me.phase].section_loops);
    s.sections = before + 1;
  }

  // Puts a message into a bounded queue, or takes one out. Returns false if it was stopped.
  template <class Meter>
  bool transfer(thread_state& me, std::size_t number, bool puts, Meter& meter) {
    compact_mutex& s = mutexes[number];
    message_queue& queue = queues[number];
    meter.lock(s);
    while (!is_stopped() && queue.queued == (puts ? capacity : 0)) {
      meter.wait(puts ? queue.not_full : queue.not_empty, s);
    }
    const bool continues = !is_stopped();
    if (continues) {
      section(me, s);
      queue.queued += puts ? 1 : static_cast<std::uint64_t>(-1);
      (puts ? queue.not_empty : queue.not_full).signal();
    }
    meter.unlock(s);
    return continues;
  }

  void spend_gap(thread_state& me) const {
    const std::uint64_t loops = regimes[me.phase].gap_loops;
    if (loops != 0) {
      const double mean = static_cast<double>(loops);
      spin_loops(exponential ? static_cast<std::uint64_t>(mean * gaps.draw(me.random)) : loops);
    }
    if (burst != 0 && ++me.in_burst == burst) {
      me.in_burst = 0;
      // All threads wake at the same time.
      sleep_until((now_ns() / idle_ns + 1) * idle_ns);
    }
  }

  [[nodiscard]] bool is_stopped() const { return stop.load(std::memory_order_relaxed); }

  void release_waiters() {
    stop.store(true);
    if (capacity != 0) {
      must(pthread_create(&waker.emplace(), nullptr, empty_queues, this), "pthread_create");
    }
  }

  // Wakes the threads that sleep in stopped queues. A thread of its own, since it needs the mutexes.
  static void* empty_queues(void* at) {
    load& l = *static_cast<load*>(at);
    for (std::size_t i = 0; i < l.queues.size(); ++i) {
      must(pthread_mutex_lock(&l.mutexes[i].mutex), "pthread_mutex_lock");
      l.queues[i].not_empty.broadcast();
      l.queues[i].not_full.broadcast();
      must(pthread_mutex_unlock(&l.mutexes[i].mutex), "pthread_mutex_unlock");
    }
    return nullptr;
  }

  void report(result& line, const run_record& done) const {
    if (sample_us == 0) {
      return;
    }
    std::vector<std::uint64_t> times;
    std::vector<std::uint64_t> counts;
    for (const sample& each : done.samples) {
      times.push_back(each.at - done.samples.front().at);
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < each.operations.size(); ++i) {
        sum += each.operations[i] - done.samples.front().operations[i];
      }
      counts.push_back(sum);
    }
    line.field("sample_ns", times).field("sample_acquisitions", counts);
  }

  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const compact_mutex& each : mutexes) {
      sum += each.taken;
    }
    return sum;
  }

  std::array<regime, 2> regimes{};
  // Messages in a queue; 0: there is none.
  std::uint64_t capacity;
  std::uint64_t stages;
  std::uint64_t producers;
  std::vector<compact_mutex> mutexes;
  std::vector<message_queue> queues;
  std::uint64_t long_loops;
  std::uint64_t long_one_in;
  bool exponential;
  bool trylock;
  bool timed;
  std::uint64_t burst;
  std::uint64_t idle_ns;
  std::uint64_t period_ns;
  std::uint64_t period_acquisitions;
  std::uint64_t sample_us;
  // Clock readings at which the first period begins, and what a period is in ticks.
  std::uint64_t origin_ns = 0;
  std::uint64_t origin_ticks = 0;
  std::uint64_t period_ticks = 0;
  double ticks_per_ns = 0;
  exponential_steps gaps;
  alignas(cache_line_pair) std::atomic<bool> stop{false};
  // Ends after the threads that it wakes, and then still unlocks a mutex.
  std::optional<pthread_t> waker;
};

int run_load(const description& about, const settings& given) {
  // Alone a thread never waits, and the clock would take longer than the mutex.
  return given.threads() > 1 || given.count("then-threads") > 1
             ? run_thread_group<load, meter_waits>(about, given)
             : run_thread_group<load, meters_off>(about, given);
}

}  // namespace

const description regimes{
    .name = "regimes",
    .measures =
        "threads that contend in one pattern and then in another: bursts, queues, trylock loops",
    .operation = "acquisitions",
    .parameters = {{"section-ns", 100, "ns", "work while a mutex is held"},
                   {"gap-ns", 0, "ns", "work between two acquisitions of a thread"},
                   {"exponential", 0, "", "1 draws each gap from an exponential distribution"},
                   {"long-ns", 0, "ns", "work of a long section"},
                   {"long-one-in", 0, "", "sections of which one is long; 0: none"},
                   {"locks", 1, "", "mutexes, of which one is drawn each time", 1},
                   {"hogs", 0, "", "processes that use a processor each"},
                   {"burst", 0, "", "acquisitions after which a thread sleeps; 0: never"},
                   {"idle-us", 1000, "us", "period at whose end all that sleep wake", 1},
                   {"queue", 0, "", "messages that a queue holds between the threads; 0: no queue"},
                   {"stages", 2, "", "stages, one thread after another, with a queue before each",
                    2},
                   {"producers", 0, "", "threads that only put; 0: the first of the stages"},
                   {"trylock", 0, "", "1 takes the mutex by trying it again and again"},
                   {"timed", 0, "", "1 lets every other thread wait with a deadline"},
                   {"then-threads", 0, "", "threads of the second pattern; 0: as many"},
                   {"then-section-ns", -1, "ns", "section of the second pattern; -1: the same"},
                   {"then-gap-ns", -1, "ns", "gap of the second pattern; -1: the same"},
                   {"period-us", 0, "us", "time after which the pattern changes; 0: never"},
                   {"period-acquisitions", 0, "", "acquisitions after which it changes; 0: never"},
                   {"sample-us", 0, "us", "time between two readings of the counts; 0: none"}},
    .in_native_runs = {{"seconds", 0.2, "s", "", 1e-3}, {"warm-up", 0.02, "s"}},
    .is_listed = false,
    .run = run_load,
};

}  // namespace bench
