// Threads that wait for a word to change, by each technique of the processor or the kernel.
#include <sched.h>

#include <atomic>
#include <climits>
#include <deque>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../meter/histogram.hpp"
#include "catalogue.hpp"
#include "lockless.hpp"

namespace bench {
namespace {

enum technique : std::uint32_t {
  plain_load,
  nop,
  pause_instruction,
  fence,
  global,  // an atomic exchange, as a thread that polls a lock word
  yield,
  sleep_on_futex,
  tpause,
  umwait,
  monitorx,
};
constexpr const char* words = "load,nop,pause,fence,global,yield,sleep,tpause,umwait,monitorx";

// The longest that one of the waiting instructions may take, in ticks.
constexpr std::uint32_t longest_ticks = 100'000;

bool has(technique chosen) {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned waitpkg = 1u << 5;
  constexpr unsigned monitorx_bit = 1u << 29;
  switch (chosen) {
    case tpause:
    case umwait:
      return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & waitpkg) != 0;
    case monitorx:
      return __get_cpuid(0x80000001u, &a, &b, &c, &d) != 0 && (c & monitorx_bit) != 0;
    default:
      return true;
  }
#else
  return chosen != tpause && chosen != umwait && chosen != monitorx;
#endif
}

// The instructions by their bytes: assemblers differ in which of them they know.
#if defined(__x86_64__)
void tpause_once() {
  const std::uint64_t until = ticks() + longest_ticks;
  const std::uint32_t state = 1;               // the lighter of the two sleeps
  asm volatile(".byte 0x66, 0x0f, 0xae, 0xf1"  // tpause %ecx
               :
               : "c"(state), "a"(static_cast<std::uint32_t>(until)),
                 "d"(static_cast<std::uint32_t>(until >> 32))
               : "cc", "memory");
}
void umwait_once(const std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  asm volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" : : "a"(&word) : "memory");  // umonitor %rax
  if (word.load(std::memory_order_acquire) != seen) {
    return;
  }
  const std::uint64_t until = ticks() + longest_ticks;
  const std::uint32_t state = 1;
  asm volatile(".byte 0xf2, 0x0f, 0xae, 0xf1"  // umwait %ecx
               :
               : "c"(state), "a"(static_cast<std::uint32_t>(until)),
                 "d"(static_cast<std::uint32_t>(until >> 32))
               : "cc", "memory");
}
void monitorx_once(const std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  asm volatile(".byte 0x0f, 0x01, 0xfa" : : "a"(&word), "c"(0), "d"(0) : "memory");  // monitorx
  if (word.load(std::memory_order_acquire) != seen) {
    return;
  }
  const std::uint32_t with_timer = 2;
  asm volatile(".byte 0x0f, 0x01, 0xfb"  // mwaitx
               :
               : "a"(0xf0), "b"(longest_ticks), "c"(with_timer)
               : "memory");
}
#else
void tpause_once() {}
void umwait_once(const std::atomic<std::uint32_t>& /*word*/, std::uint32_t /*seen*/) {}
void monitorx_once(const std::atomic<std::uint32_t>& /*word*/, std::uint32_t /*seen*/) {}
#endif

struct notice {
  alignas(cache_line_pair) std::atomic<std::uint32_t> word{0};  // counts the changes
  std::atomic<std::uint64_t> changed_at{0};                     // ticks(), written before
  alignas(cache_line_pair) std::atomic<bool> over{false};
  technique chosen = plain_load;
};

void poll_once(notice& n, std::uint32_t seen) {
  switch (n.chosen) {
    case plain_load:
      break;
    case nop:
      asm volatile("nop");
      break;
    case pause_instruction:
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("isb");
#endif
      break;
    case fence:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      break;
    case global:
      // Writes what is there, and so takes the line.
      n.word.fetch_add(0);
      break;
    case yield:
      sched_yield();
      break;
    case sleep_on_futex:
      futex_wait(n.word, seen);
      break;
    case tpause:
      tpause_once();
      break;
    case umwait:
      umwait_once(n.word, seen);
      break;
    case monitorx:
      monitorx_once(n.word, seen);
      break;
  }
}

struct alignas(cache_line_pair) waiter {
  std::uint64_t polls = 0;
  histogram reaction;
};

void wait_for_changes(notice& n, waiter& me) {
  std::uint32_t seen = 0;
  while (!n.over.load(std::memory_order_relaxed)) {
    const std::uint32_t now = n.word.load(std::memory_order_acquire);
    if (now == seen) {
      ++me.polls;
      poll_once(n, seen);
      continue;
    }
    const std::uint64_t noticed = ticks();
    const std::uint64_t changed = n.changed_at.load(std::memory_order_relaxed);
    me.reaction.add(noticed > changed ? noticed - changed : 0);
    seen = now;
  }
}

int run_wait_method(const description& about, const settings& given) {
  static notice n;
  n.chosen = static_cast<technique>(given.count("technique"));
  if (!has(n.chosen)) {
    refuse("this processor has no such instruction; choose another with '--technique'");
  }
  const std::uint64_t period = given.count("period-us", 1) * 1000;
  const auto length = static_cast<std::uint64_t>(given.real("seconds") * 1e9);
  std::vector<waiter> workers(given.threads());
  std::deque<other_thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back(-1, [&, i] {
      given.pin(i);
      wait_for_changes(n, workers[i]);
    });
  }
  for (other_thread& each : threads) {
    each.start();
  }
  const lockless_run run(given);
  const std::uint64_t began = now_ns();
  const std::uint64_t from = ticks();
  std::uint64_t changes = 0;
  while (now_ns() - began < length) {
    sleep_ns(period);
    n.changed_at.store(ticks(), std::memory_order_relaxed);
    n.word.fetch_add(1);
    if (n.chosen == sleep_on_futex) {
      futex_wake(n.word, INT_MAX);
    }
    ++changes;
  }
  const double ns_per_tick =
      static_cast<double>(now_ns() - began) / static_cast<double>(ticks() - from);
  n.over.store(true);
  n.word.fetch_add(1);
  futex_wake(n.word, INT_MAX);
  histogram reaction;
  std::uint64_t polls = 0;
  for (other_thread& each : threads) {
    each.join();
  }
  for (const waiter& one : workers) {
    reaction.add(one.reaction);
    polls += one.polls;
  }
  return run.end(about.name, changes, [&](result& line, double seconds) {
    line.field("reaction_ns", static_cast<double>(reaction.at(0.5)) * ns_per_tick)
        .field("reaction_p99_ns", static_cast<double>(reaction.at(0.99)) * ns_per_tick)
        .field("polls_per_us",
               static_cast<double>(polls) / seconds / 1e6 / static_cast<double>(workers.size()));
  });
}

}  // namespace

const description waiting{
    .name = "waiting",
    .measures = "threads that wait for a word to change: how soon they see it, and at what cost",
    .source =
        "Falsafi et al., Unlocking Energy, ATC 2016, figures 3 to 5; tpause, umwait and "
        "monitorx came later",
    .operation = "changes of the word",
    .threads = 1,
    .parameters = {{"technique", pause_instruction, "", "what a thread does between two polls", 0,
                    words},
                   {"period-us", 1000, "us", "time between two changes of the word", 1}},
    .figures = {{"reaction_ns", "reaction ns",
                 "from a change to when a waiting thread sees it; median", true},
                {"reaction_p99_ns", "p99", "the same, 99th percentile", true},
                {"polls_per_us", "polls per us", "how often a thread polls, per microsecond"}},
    .uses_lock = false,
    .run = run_wait_method,
};

}  // namespace bench
