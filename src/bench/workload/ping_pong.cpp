// Two threads that take turns, each waiting for the other on a condition variable.
#include <array>
#include <memory>
#include <vector>

#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct thread_pairs {
  explicit thread_pairs(const settings& given) {
    if (given.threads() % 2 != 0) {
      refuse("'--threads' is odd; give an even number: the threads run in pairs");
    }
    for (std::uint64_t i = 0; i < given.threads() / 2; ++i) {
      all.push_back(std::make_unique<thread_pair>());
    }
  }

  struct alignas(cache_line_pair) call {
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  };

  struct thread_pair {
    guarded_mutex shared;
    std::array<call, 2> calls;
    // Guarded by the mutex.
    alignas(cache_line_pair) std::size_t turn = 0;
    std::uint64_t turns = 0;
    bool over = false;
  };

  struct alignas(cache_line_pair) thread_state {
    thread_state(thread_pairs& w, const settings& given, std::size_t index)
        : at{*w.all[index / 2]},
          side{index % 2},
          section{settings::loops_of_cycles(given.real("section-cycles"))} {}
    thread_pair& at;
    std::size_t side;
    std::uint64_t section;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    thread_pair& t = me.at;
    meter.lock(t.shared);
    while (t.turn != me.side && !t.over) {
      meter.wait(t.calls[me.side].cond, t.shared);
    }
    const bool mine = t.turn == me.side;
    if (mine) {
      meter.work(me.section);
      t.turn = 1 - me.side;
      ++t.turns;
      must(pthread_cond_signal(&t.calls[t.turn].cond), "pthread_cond_signal");
    }
    meter.unlock(t.shared);
    return mine ? 1 : 0;
  }

  void release_waiters() {
    for (auto& one : all) {
      must(pthread_mutex_lock(&one->shared.mutex), "pthread_mutex_lock");
      one->over = true;
      for (call& one_side : one->calls) {
        must(pthread_cond_broadcast(&one_side.cond), "pthread_cond_broadcast");
      }
      must(pthread_mutex_unlock(&one->shared.mutex), "pthread_mutex_unlock");
    }
  }

  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const auto& one : all) {
      sum += one->shared.taken;
    }
    return sum;
  }

  [[nodiscard]] std::string find_fault(const totals& done) const {
    std::uint64_t turns = 0;
    for (const auto& one : all) {
      turns += one->turns;
    }
    return turns == done.operations ? "" : "a turn was taken twice";
  }

  std::vector<std::unique_ptr<thread_pair>> all;
};

}  // namespace

const description ping_pong{
    .name = "ping-pong",
    .measures = "two threads that take turns, by a mutex and a condition variable for each",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: calibration by "
        "context switches",
    .operation = "turns",
    .threads = 2,
    .parameters = {{"section-cycles", 0, "cycles", "work of a turn"}},
    .run = run_workload<thread_pairs>,
};

}  // namespace bench
