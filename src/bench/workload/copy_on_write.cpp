// A list that is read without a lock, and copied under one to change it.
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "../../calibrate/memory.hpp"
#include "catalogue.hpp"
#include "native.hpp"
#include "quiescence.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

using elements = std::vector<std::uint64_t>;

struct copied_list : with_one_mutex {
  explicit copied_list(const settings& given)
      : with_one_mutex{given},
        current{make(given.count("elements", 1))},
        threads{given.threads()} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(copied_list& w, const settings& given, std::size_t number)
        : index{number},
          random{number},
          writes{given.real("update-percent") / 100},
          retired{w.threads} {}
    std::size_t index;
    random_source random;
    double writes;
    retired_nodes<elements> retired;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    threads.begins(me.index);
    if (me.random.chance(me.writes)) {
      change_one(me, meter);
    } else {
      const elements& seen = *current.load(std::memory_order_acquire);
      do_not_optimize(std::accumulate(seen.begin(), seen.end(), std::uint64_t{0}));
    }
    threads.ended(me.index);
    return 1;
  }

  template <class Meter>
  void change_one(thread_state& me, Meter& meter) {
    elements* copy = me.retired.take();
    meter.lock(shared);
    elements* const old = current.load(std::memory_order_relaxed);
    if (copy == nullptr) {
      copy = make(old->size());
    }
    *copy = *old;
    ++(*copy)[me.random.below(copy->size())];
    ++written;
    current.store(copy, std::memory_order_release);
    meter.unlock(shared);
    me.retired.put(old);
  }

  static elements* make(std::size_t count) { return std::make_unique<elements>(count).release(); }

  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const {
    const elements& last = *current.load();
    const std::uint64_t sum = std::accumulate(last.begin(), last.end(), std::uint64_t{0});
    return sum == written ? "" : "a change was lost";
  }

  alignas(cache_line_pair) std::atomic<elements*> current;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t written = 0;
  quiescence threads;
};

}  // namespace

const description copy_on_write{
    .name = "copy-on-write",
    .measures = "threads that read a list without a lock, or copy it under one to change it",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 1 (CopyOnWriteArrayList)",
    .operation = "operations",
    .parameters = {{"elements", 1000, "", "elements of the list, of 8 bytes", 1},
                   {"update-percent", 100, "%", "operations that change the list"}},
    .one_mutex = true,
    .run = run_workload<copied_list>,
};

}  // namespace bench
