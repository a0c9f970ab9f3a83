// Walks over pages, in the section those of a shared ring, between sections those of a private one:
// circulating threads share the translations of addresses.
#include <vector>

#include "../random_cycle.hpp"
#include "catalogue.hpp"
#include "memory.hpp"
#include "mutexes.hpp"
#include "random.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct element {
  element* next;
};

class ring {
 public:
  ring(const settings& given, std::uint64_t seed)
      : bytes_(given.count("elements", 1) * given.count("element-bytes", sizeof(element)), false) {
    const std::uint64_t count = given.count("elements", 1);
    const std::uint64_t size = given.count("element-bytes", sizeof(element));
    random_source random(seed);
    std::vector<element*> places;
    for (const std::uint64_t at : random_order(count, random)) {
      // Anywhere in its page, or all of them would fall into the same few sets of the cache.
      const std::uint64_t offset = random.below(size / sizeof(element)) * sizeof(element);
      places.push_back(reinterpret_cast<element*>(&bytes_[at * size + offset]));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i]->next = places[(i + 1) % places.size()];
    }
    here_ = places.front();
  }

  // Continues from where it stopped.
  void walk(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      here_ = here_->next;
    }
    do_not_optimize(here_);
  }

 private:
  pages_of<char> bytes_;
  element* here_;
};

struct shared_ring : with_one_mutex {
  explicit shared_ring(const settings& given) : pages{given, 0} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(shared_ring& /*w*/, const settings& given, std::size_t index)
        : section{given.count("section-steps")},
          gap{given.count("gap-steps")},
          pages{given, index + 1} {}
    std::uint64_t section;
    std::uint64_t gap;
    ring pages;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    pages.walk(me.section);
    meter.unlock(shared);
    me.pages.walk(me.gap);
    return 1;
  }

  alignas(cache_line_pair) ring pages;
};

}  // namespace

const description ring_walker{
    .name = "ring-walker",
    .measures =
        "threads that walk over the pages of a shared ring under a mutex, and over those "
        "of one of their own without",
    .source = "Dice, Malthusian Locks, EuroSys 2017, RingWalker, figure 5",
    .operation = "iterations",
    .threads = 2,
    .parameters = {{"elements", 50, "", "elements of each ring", 1},
                   {"element-bytes", 8192, "bytes",
                    "distance of two elements; each lies at random within it", 64},
                   {"section-steps", 10, "", "elements of the shared ring, under the mutex"},
                   {"gap-steps", 50, "", "elements of the thread's own ring"}},
    .one_mutex = true,
    .run = run_workload<shared_ring>,
};

}  // namespace bench
