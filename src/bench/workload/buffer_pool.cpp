// A pool of a few large buffers. A thread that waits for one waits on a condition variable, or on
// a semaphore.
#include <semaphore.h>

#include <deque>
#include <memory>

#include "../../calibrate/memory.hpp"
#include "catalogue.hpp"
#include "native.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

using buffer = pages_of<std::uint32_t>;

struct pool : with_one_mutex {
  explicit pool(const settings& given) : with_one_mutex{given}, by_semaphore{given.is("wait")} {
    const std::uint64_t count = given.count("buffers", 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      all.push_back(std::make_unique<buffer>(given.count("buffer-bytes", 4) / 4));
      free.push_back(all.back().get());
    }
    if (sem_init(&available, 0, static_cast<unsigned>(count)) != 0) {
      must(errno, "sem_init");
    }
  }

  struct alignas(cache_line_pair) thread_state {
    thread_state(pool& /*w*/, const settings& given, std::size_t index)
        : exchanges{given.count("exchanges")},
          gap{given.count("gap-updates")},
          random{index},
          mine{given.count("buffer-bytes", 4) / 4} {}
    std::uint64_t exchanges;
    std::uint64_t gap;
    random_source random;
    buffer mine;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    buffer* const taken = by_semaphore ? take_by_semaphore(meter) : take(meter);
    if (taken == nullptr) {
      return 0;
    }
    for (std::uint64_t i = 0; i < me.exchanges; ++i) {
      const std::uint64_t at = me.random.below(me.mine.size());
      std::swap((*taken)[at], me.mine[at]);
    }
    give_back(taken, meter);
    for (std::uint64_t i = 0; i < me.gap; ++i) {
      ++me.mine[me.random.below(me.mine.size())];
    }
    return 1;
  }

  template <class Meter>
  buffer* take(Meter& meter) {
    buffer* got = nullptr;
    meter.lock(shared);
    while (free.empty() && !over) {
      meter.wait(not_empty, shared);
    }
    if (!free.empty()) {
      got = free.front();
      free.pop_front();
    }
    meter.unlock(shared);
    return got;
  }

  template <class Meter>
  buffer* take_by_semaphore(Meter& meter) {
    while (sem_wait(&available) != 0) {
    }
    buffer* got = nullptr;
    meter.lock(shared);
    // At the end it is posted without a buffer.
    if (!free.empty()) {
      got = free.front();
      free.pop_front();
    }
    meter.unlock(shared);
    return got;
  }

  template <class Meter>
  void give_back(buffer* taken, Meter& meter) {
    meter.lock(shared);
    free.push_back(taken);
    if (!by_semaphore) {
      not_empty.signal();
    }
    meter.unlock(shared);
    if (by_semaphore) {
      sem_post(&available);
    }
  }

  void release_waiters() {
    shared.lock();
    over = true;
    not_empty.broadcast();
    shared.unlock();
  }

  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const {
    return free.size() == all.size() ? "" : "a buffer was lost or is there twice";
  }

  bool by_semaphore;
  std::vector<std::unique_ptr<buffer>> all;
  condition not_empty;
  alignas(cache_line_pair) sem_t available;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::deque<buffer*> free;
  bool over = false;
};

}  // namespace

const description buffer_pool{
    .name = "buffer-pool",
    .measures = "threads that take one of a few buffers, work on it and give it back",
    .source = "Dice, Malthusian Locks, EuroSys 2017, Buffer Pool, figure 14",
    .operation = "buffers used",
    .threads = 8,
    .parameters = {{"buffers", 5, "", "buffers in the pool", 1},
                   {"buffer-bytes", 1048576, "bytes", "size of each, and of a thread's own", 4},
                   {"exchanges", 500, "", "words that are exchanged with the thread's own buffer"},
                   {"gap-updates", 5000, "", "words of the own buffer that are updated after that"},
                   {"wait", 0, "", "what a thread waits on that finds no buffer", 0,
                    "cond,semaphore"}},
    .run = run_workload<pool>,
};

}  // namespace bench
