// A bounded queue with a condition for each of its ends; operations are messages.
#include <queue>

#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct bounded_queue : with_one_mutex {
  explicit bounded_queue(const settings& given)
      : capacity{given.count("capacity", 1)}, consumers{given.count("consumers", 1)} {}

  [[nodiscard]] std::uint64_t helpers() const { return consumers; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(bounded_queue& /*w*/, const settings& given, std::size_t index)
        : produces{index < given.threads()} {}
    bool produces;
    int message = 0;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    return me.produces ? put(me, meter) : get(me, meter);
  }

  template <class Meter>
  std::uint64_t put(thread_state& me, Meter& meter) {
    meter.lock(shared);
    while (queue.size() == capacity && !over) {
      meter.wait(not_full, shared);
    }
    const bool room = queue.size() < capacity;
    if (room) {
      queue.push(me.message++);
      ++entered;
      must(pthread_cond_signal(&not_empty), "pthread_cond_signal");
    }
    meter.unlock(shared);
    return room ? 1 : 0;
  }

  template <class Meter>
  std::uint64_t get(thread_state& me, Meter& meter) {
    meter.lock(shared);
    while (queue.empty() && !over) {
      meter.wait(not_empty, shared);
    }
    const bool any = !queue.empty();
    if (any) {
      me.message = queue.front();
      queue.pop();
      ++left;
      must(pthread_cond_signal(&not_full), "pthread_cond_signal");
    }
    meter.unlock(shared);
    return any ? 1 : 0;
  }

  void release_waiters() {
    must(pthread_mutex_lock(&shared.mutex), "pthread_mutex_lock");
    over = true;
    must(pthread_cond_broadcast(&not_empty), "pthread_cond_broadcast");
    must(pthread_cond_broadcast(&not_full), "pthread_cond_broadcast");
    must(pthread_mutex_unlock(&shared.mutex), "pthread_mutex_unlock");
  }

  static void report(result& line, const totals& done) {
    if (done.operations != 0) {
      line.field("acquisitions_per_message",
                 static_cast<double>(done.acquisitions) / static_cast<double>(done.operations));
    }
  }

  [[nodiscard]] std::string find_fault(const totals& all) const {
    const bool right = entered == all.operations && left + queue.size() == entered;
    return right ? "" : "messages were lost or came twice";
  }

  alignas(cache_line_pair) pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
  alignas(cache_line_pair) pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::queue<int> queue;
  std::uint64_t entered = 0;
  std::uint64_t left = 0;
  bool over = false;
  std::uint64_t capacity;
  std::uint64_t consumers;
};

}  // namespace

const description producer_consumer{
    .name = "producer-consumer",
    .measures = "threads that put messages into a bounded queue, and others that take them out",
    .source =
        "Curtsinger and Berger, COZ's producer_consumer; Dice, Malthusian Locks, EuroSys "
        "2017, figure 10",
    .operation = "messages put",
    .threads = 2,
    .parameters = {{"consumers", 3, "", "threads that take messages out, beside those of --threads",
                    1},
                   {"capacity", 10000, "messages", "most that the queue holds", 1}},
    .figures = {{"acquisitions_per_message", "acq per message",
                 "how often the mutex was taken for a message, by threads that had waited "
                 "too: 3 where most wait, 2 with a fast flow",
                 true}},
    .one_mutex = true,
    .run = run_workload<bounded_queue>,
};

}  // namespace bench
