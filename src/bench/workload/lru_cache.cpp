// A cache of the keys used last, under one mutex. Circulating threads share its capacity.
#include <list>
#include <map>
#include <random>

#include "catalogue.hpp"
#include "key_set.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

// A map for finding and a list for the order of use, as the SimpleLRU of Ceph.
class lru {
 public:
  explicit lru(std::size_t capacity) : capacity_{capacity} {}

  struct outcome {
    bool miss;
    bool displaced_own;
    bool displaced_others;
  };

  // Looks the key up, and puts it in where it is not there.
  outcome use(int key, std::size_t thread) {
    if (const auto found = places_.find(key); found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return {};
    }
    outcome done{true, false, false};
    if (order_.size() == capacity_) {
      const entry& last = order_.back();
      (last.thread == thread ? done.displaced_own : done.displaced_others) = true;
      places_.erase(last.key);
      order_.pop_back();
    }
    order_.push_front({key, key, thread});
    places_.emplace(key, order_.begin());
    return done;
  }

  [[nodiscard]] bool is_whole() const {
    return order_.size() == places_.size() && order_.size() <= capacity_;
  }

 private:
  struct entry {
    int key;
    int value;
    std::size_t thread;  // that put it in
  };
  std::size_t capacity_;
  std::list<entry> order_;
  std::map<int, std::list<entry>::iterator> places_;
};

struct one_cache : with_one_mutex {
  explicit one_cache(const settings& given) : cache{given.count("capacity", 1)} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(one_cache& /*w*/, const settings& given, std::size_t number)
        : random{static_cast<std::mt19937::result_type>(number)},
          keys{given, random},
          gap{given.count("gap-steps")},
          index{number} {}
    std::mt19937 random;
    key_set keys;
    std::uint64_t gap;
    std::size_t index;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    me.random.discard(me.gap);
    meter.lock(shared);
    const lru::outcome done = cache.use(me.keys.draw(me.random), me.index);
    ++looked_up;
    misses += done.miss ? 1 : 0;
    own_displaced += done.displaced_own ? 1 : 0;
    others_displaced += done.displaced_others ? 1 : 0;
    meter.unlock(shared);
    return 1;
  }

  // Of the run with its warm-up, which fills the cache, so misses are more frequent at first.
  void report(result& line, const totals& /*done*/) {
    must(pthread_mutex_lock(&shared.mutex), "pthread_mutex_lock");
    if (looked_up != 0) {
      line.field("miss_share", static_cast<double>(misses) / static_cast<double>(looked_up));
    }
    if (own_displaced + others_displaced != 0) {
      line.field("displaced_by_others", static_cast<double>(others_displaced) /
                                            static_cast<double>(own_displaced + others_displaced));
    }
    must(pthread_mutex_unlock(&shared.mutex), "pthread_mutex_unlock");
  }

  [[nodiscard]] std::string find_fault(const totals& all) const {
    return cache.is_whole() && looked_up == all.operations ? "" : "the cache has lost entries";
  }

  // Guarded by the mutex.
  alignas(cache_line_pair) lru cache;
  std::uint64_t looked_up = 0;
  std::uint64_t misses = 0;
  std::uint64_t own_displaced = 0;
  std::uint64_t others_displaced = 0;
};

}  // namespace

const description lru_cache{
    .name = "lru-cache",
    .measures = "threads that look keys up in a cache of the last used ones, under a mutex",
    .source = "Dice, Malthusian Locks, EuroSys 2017, LRUCache, figure 12",
    .operation = "look-ups",
    .threads = 2,
    .parameters = {{"capacity", 10000, "keys", "most that the cache holds", 1},
                   {"keys", 1'000'000, "", "number of keys", 1},
                   {"set-size", 1000, "", "keys that a thread uses", 1},
                   {"replace-share", 0.01, "",
                    "share of the look-ups that take another key instead"},
                   {"gap-steps", 1000, "", "steps of a Mersenne twister between two look-ups"}},
    .figures = {{"miss_share", "misses", "share of the look-ups, from the start, that missed",
                 true},
                {"displaced_by_others", "by others",
                 "share of the evicted entries that another thread had inserted", true}},
    .one_mutex = true,
    .run = run_workload<one_cache>,
};

}  // namespace bench
