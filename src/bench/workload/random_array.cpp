// Reads all over an array, in the section of a shared one, between sections of a private one: the
// circulating threads share the cache.
#include "catalogue.hpp"
#include "memory.hpp"
#include "mutexes.hpp"
#include "random.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

using words = pages_of<std::uint32_t>;

void read_some(words& array, std::uint64_t count, random_source& random) {
  for (std::uint64_t i = 0; i < count; ++i) {
    do_not_optimize(array[random.below(array.size())]);
  }
}

struct shared_array : with_one_mutex {
  explicit shared_array(const settings& given) : array{given.count("words", 1)} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(shared_array& /*w*/, const settings& given, std::size_t index)
        : section{given.count("section-reads")},
          gap{given.count("gap-reads")},
          random{index},
          array{given.count("words", 1)} {}
    std::uint64_t section;
    std::uint64_t gap;
    random_source random;
    words array;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    read_some(array, me.section, me.random);
    meter.unlock(shared);
    read_some(me.array, me.gap, me.random);
    return 1;
  }

  alignas(cache_line_pair) words array;
};

}  // namespace

const description random_array{
    .name = "random-array",
    .measures =
        "threads that read at random from a shared array under a mutex, and from one of "
        "their own without",
    .source = "Dice, Malthusian Locks, EuroSys 2017, RandArray, figures 3 and 4",
    .operation = "iterations",
    .threads = 2,
    .parameters = {{"words", 262144, "words", "length of each array, in words of 4 bytes", 1},
                   {"section-reads", 100, "", "reads of the shared array, under the mutex"},
                   {"gap-reads", 400, "", "reads of the thread's own array"}},
    .one_mutex = true,
    .run = run_workload<shared_array>,
};

}  // namespace bench
