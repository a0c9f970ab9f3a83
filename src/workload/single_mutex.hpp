// Threads that contend for one mutex: single-lock, lockbench, convoy, migration, trylock-wait.
#pragma once

#include <string>

#include "description.hpp"

namespace lockwright::workloads {

// All sections have one length, and all gaps another.
template <class Env>
struct equal_sections : with_one<typename Env::mutex> {
  using with_one<typename Env::mutex>::with_one;

  struct alignas(cache_line_pair) thread_state {
    thread_state(equal_sections& /*w*/, const typename Env::settings& given, std::size_t /*index*/)
        : section{given.length("section")}, gap{given.length("gap")} {}
    std::uint64_t section;
    std::uint64_t gap;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    meter.work(me.section);
    meter.unlock(this->shared);
    meter.work(me.gap);
    return 1;
  }
};

inline const description single_lock{
    .name = "single-lock",
    .measures = "threads that contend for one mutex, for sections of one length",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figures 8, 9 and 11",
    .operation = "acquisitions",
    .parameters = {{"section-cycles", 1000, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
    .one_mutex = true,
};

// Lengths drawn evenly from an interval.
template <class Env>
class interval {
 public:
  interval(const typename Env::settings& given, const std::string& name)
      : low_{given.length(name + "-min")}, span_{given.length(name + "-max")} {
    if (span_ < low_) {
      programs::refuse("'--" + name + "-max-ns' is below '--" + name +
                       "-min-ns'; give a larger one");
    }
    span_ -= low_;
  }
  template <class Random>
  [[nodiscard]] std::uint64_t draw(Random& random) const {
    return low_ + random.below(span_);
  }

 private:
  std::uint64_t low_;
  std::uint64_t span_;
};

template <class Env>
struct drawn_sections : with_one<typename Env::mutex> {
  using with_one<typename Env::mutex>::with_one;

  struct alignas(cache_line_pair) thread_state {
    thread_state(drawn_sections& /*w*/, const typename Env::settings& given, std::size_t index)
        : section{given, "section"}, gap{given, "gap"}, random{given.random(index)} {}
    interval<Env> section;
    interval<Env> gap;
    typename Env::random random;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    const std::uint64_t section = me.section.draw(me.random);
    meter.lock(this->shared);
    meter.work(section);
    meter.unlock(this->shared);
    meter.work(me.gap.draw(me.random));
    return 1;
  }
};

inline const description lockbench{
    .name = "lockbench",
    .measures =
        "threads that contend for one mutex, sections and gaps of lengths drawn from an interval",
    .source = "Marotta et al., Mutable Locks, 2019, LOCKBENCH, figures 3 to 5",
    .operation = "acquisitions",
    .parameters = {{"section-min-ns", 0, "ns", "shortest work while the mutex is held"},
                   {"section-max-ns", 3700, "ns", "longest, never reached"},
                   {"gap-min-ns", 0, "ns", "shortest work between two acquisitions of a thread"},
                   {"gap-max-ns", 3700, "ns", "longest, never reached"}},
    .presets = {{"short-short", "section-max-ns=3700 gap-max-ns=3700",
                 "figure 3 (a) and (b): short sections, medium contention"},
                {"long-short", "section-max-ns=366000 gap-max-ns=3700",
                 "figure 3 (c) and (d): long sections, high contention"},
                {"short-long", "section-max-ns=3700 gap-max-ns=366000",
                 "figure 3 (e) and (f): short sections, very low contention"},
                {"long-long", "section-max-ns=366000 gap-max-ns=366000",
                 "figure 3 (g) and (h): long sections, moderate contention"}},
    .one_mutex = true,
};

// The state of a thread that does something once in so many sections, not at the same time as others.
template <class Env>
struct periodic_state : equal_sections<Env>::thread_state {
  periodic_state(equal_sections<Env>& w, const typename Env::settings& given, std::size_t index,
                 const char* sections)
      : equal_sections<Env>::thread_state{w, given, index},
        every{given.count(sections, 1)},
        since{every * index / given.threads()} {}

  bool is_due() {
    const bool due = ++since >= every;
    since = due ? 0 : since;
    return due;
  }

  std::uint64_t every;
  std::uint64_t since;
};

// At times the holder of the mutex loses its processor for long, and all others queue.
template <class Env>
struct held_up : equal_sections<Env> {
  using equal_sections<Env>::equal_sections;

  struct thread_state : periodic_state<Env> {
    thread_state(held_up& w, const typename Env::settings& given, std::size_t index)
        : periodic_state<Env>{w, given, index, "sleep-every"}, ns{given.count("sleep-us") * 1000} {}
    std::uint64_t ns;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    meter.work(me.section);
    if (me.is_due()) {
      meter.sleep(me.ns);
    }
    meter.unlock(this->shared);
    meter.work(me.gap);
    return 1;
  }
};

inline const description convoy{
    .name = "convoy",
    .measures =
        "short sections of threads that now and then sleep in one: does the queue dissolve?",
    .source = "Blasgen et al., The Convoy Phenomenon, 1979",
    .operation = "acquisitions",
    .threads = 4,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 2000, "cycles", "work between two acquisitions of a thread"},
                   {"sleep-every", 10000, "", "sections of a thread, of which the last one sleeps",
                    1},
                   {"sleep-us", 1000, "us", "how long it sleeps"}},
    .one_mutex = true,
};

template <class Env>
struct moving : equal_sections<Env> {
  using equal_sections<Env>::equal_sections;

  struct thread_state : periodic_state<Env> {
    thread_state(moving& w, const typename Env::settings& given, std::size_t index)
        : periodic_state<Env>{w, given, index, "move-every"}, at{index} {}
    std::size_t at;  // where the thread was bound last, its index before that
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    equal_sections<Env>::step(me, meter);
    if (me.is_due()) {
      meter.move_to(++me.at);
    }
    return 1;
  }
};

inline const description migration{
    .name = "migration",
    .measures =
        "threads that contend for one mutex and each move to another processor now and then",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: handover between "
        "processors, with moving threads",
    .operation = "acquisitions",
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 500, "cycles", "work between two acquisitions of a thread"},
                   {"move-every", 1000, "", "acquisitions of a thread after which it moves", 1}},
    .one_mutex = true,
};

// Threads that wait for the mutex by trying it again and again.
template <class Env>
struct tried_sections : equal_sections<Env> {
  using equal_sections<Env>::equal_sections;

  struct thread_state : equal_sections<Env>::thread_state {
    thread_state(tried_sections& w, const typename Env::settings& given, std::size_t index)
        : equal_sections<Env>::thread_state{w, given, index}, pauses{given.count("pauses")} {}
    std::uint64_t pauses;
    std::uint64_t failures = 0;
  };

  // Failures are published under the mutex, so that this makes no traffic of its own.
  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    while (!meter.try_lock(this->shared)) {
      ++me.failures;
      for (std::uint64_t i = 0; i < me.pauses; ++i) {
        meter.relax();
      }
    }
    failures += me.failures;
    me.failures = 0;
    ++successes;
    meter.work(me.section);
    meter.unlock(this->shared);
    meter.work(me.gap);
    return 1;
  }

  // Counts from the start, including the warm-up.
  template <class Line, class Record>
  void report(Line& line, const Record& /*done*/) {
    this->shared.lock();
    if (successes != 0) {
      line.field("failures_per_acquisition",
                 static_cast<double>(failures) / static_cast<double>(successes));
    }
    this->shared.unlock();
  }

  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t failures = 0;
  std::uint64_t successes = 0;
};

inline const description trylock_wait{
    .name = "trylock-wait",
    .measures = "threads that wait for one mutex by trying it until they get it",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: busy-waiting with "
        "trylock",
    .operation = "acquisitions",
    .parameters = {{"section-cycles", 1000, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 1000, "cycles", "work between two acquisitions of a thread"},
                   {"pauses", 1, "", "pause instructions between two tries"}},
    .figures = {{"failures_per_acquisition", "failed tries",
                 "tries that found the mutex held, for each that got it", true}},
    .one_mutex = true,
};

}  // namespace lockwright::workloads
