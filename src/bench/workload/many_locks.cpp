// Short-lived mutexes: each is made, used and destroyed.
#include <atomic>
#include <memory>
#include <vector>

#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct short_lived {
  explicit short_lived(const settings& given)
      : by_one{given.is("made-by")}, mutexes_of(given.threads()) {
    for (auto& each : mutexes_of) {
      each = std::make_unique<thread_mutexes>(given.count("mutexes", 1));
    }
  }

  static constexpr std::uint32_t to_use = 0;
  static constexpr std::uint32_t to_make = 1;
  static constexpr std::uint32_t end = 2;

  // The mutexes of a thread.
  struct alignas(cache_line_pair) thread_mutexes {
    explicit thread_mutexes(std::size_t count) : mutexes(count) {}
    std::vector<pthread_mutex_t> mutexes;
    bool made = false;  // only the maker reads it
    alignas(cache_line_pair) std::atomic<std::uint32_t> turn{to_make};
  };

  // One thread may initialise them for all: they are then in its cache, and a lock with state per
  // thread is used by a thread other than the one that initialised it.
  [[nodiscard]] std::uint64_t helpers() const { return by_one ? 1 : 0; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(short_lived& w, const settings& given, std::size_t number)
        : index{number}, pairs{given.count("pairs")}, maker{number >= w.mutexes_of.size()} {}
    std::size_t index;
    std::uint64_t pairs;
    bool maker;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    if (me.maker) {
      make_for_all();
      return 0;
    }
    thread_mutexes& mine = *mutexes_of[me.index];
    if (!by_one) {
      make(mine);
      use(mine, me.pairs, meter);
      destroy(mine);
      return mine.mutexes.size();
    }
    for (std::uint32_t turn = mine.turn.load(); turn != to_use; turn = mine.turn.load()) {
      if (turn == end) {
        return 0;
      }
      futex_wait(mine.turn, turn);
    }
    use(mine, me.pairs, meter);
    mine.turn.store(to_make);
    served.fetch_add(1);
    futex_wake(served, 1);
    return mine.mutexes.size();
  }

  void make_for_all() {
    const std::uint32_t seen = served.load();
    bool any = false;
    for (auto& each : mutexes_of) {
      if (each->turn.load() == to_make) {
        if (each->made) {
          destroy(*each);
        }
        make(*each);
        each->made = true;
        // At the end it stays as it is.
        std::uint32_t expected = to_make;
        each->turn.compare_exchange_strong(expected, to_use);
        futex_wake(each->turn, 1);
        any = true;
      }
    }
    if (!any) {
      futex_wait(served, seen);
    }
  }

  static void make(thread_mutexes& each) {
    for (pthread_mutex_t& m : each.mutexes) {
      must(pthread_mutex_init(&m, nullptr), "pthread_mutex_init");
    }
  }
  template <class Meter>
  static void use(thread_mutexes& each, std::uint64_t pairs, Meter& meter) {
    for (pthread_mutex_t& m : each.mutexes) {
      for (std::uint64_t i = 0; i < pairs; ++i) {
        meter.lock(m);
        meter.unlock(m);
      }
    }
  }
  static void destroy(thread_mutexes& each) {
    for (pthread_mutex_t& m : each.mutexes) {
      must(pthread_mutex_destroy(&m), "pthread_mutex_destroy");
    }
  }

  void release_waiters() {
    for (auto& each : mutexes_of) {
      each->turn.store(end);
      futex_wake(each->turn, 1);
    }
    served.fetch_add(1);
    futex_wake(served, 1);
  }

  static std::uint64_t taken() { return 0; }

  bool by_one;
  std::vector<std::unique_ptr<thread_mutexes>> mutexes_of;
  alignas(cache_line_pair) std::atomic<std::uint32_t> served{0};
};

}  // namespace

const description many_locks{
    .name = "many-locks",
    .measures = "short-lived mutexes: each is made, taken and destroyed",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: programs "
        "with up to millions of locks, made by one thread or by all",
    .operation = "mutexes made, used and destroyed",
    .threads = 2,
    .parameters =
        {{"mutexes", 1000, "", "mutexes that a thread uses one after another", 1},
         {"pairs", 1, "", "how often it acquires and releases each of them", 1},
         {"made-by", 0, "",
          "the thread that initialises and destroys a mutex: its user, or one more thread for "
          "all users",
          0, "all,one"}},
    .run = run_workload<short_lived>,
};

}  // namespace bench
