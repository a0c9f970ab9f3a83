// Sets of numbers that are mostly read: one sorted list, or a hash table of short ones.
#include <atomic>
#include <memory>
#include <vector>

#include "../../calibrate/memory.hpp"
#include "catalogue.hpp"
#include "lazy_list.hpp"
#include "quiescence.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

// A list in each bucket; with one bucket it is a list.
struct set_of_lists {
  explicit set_of_lists(const settings& given)
      : buckets(given.count("buckets", 1)), threads{given.threads()} {
    const std::uint64_t range = given.count("range", 1);
    initial = given.count("initial");
    if (initial > range) {
      refuse("'--initial' is above '--range'; give a smaller number");
    }
    random_source random(UINT32_MAX);
    mutex_meter<meters_off> unused_meter(1);
    for (std::uint64_t there = 0; there < initial;) {
      there += add(static_cast<std::int64_t>(random.below(range)), unused_meter, make_node) ? 1 : 0;
    }
  }

  struct alignas(cache_line_pair) thread_state {
    thread_state(set_of_lists& w, const settings& given, std::size_t number)
        : all{w},
          index{number},
          random{number},
          range{given.count("range", 1)},
          updates{given.real("update-percent") / 100},
          retired{w.threads} {}
    // Each thread adds its sum when it ends.
    ~thread_state() { all.changes.fetch_add(changed); }
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;
    set_of_lists& all;
    std::int64_t changed = 0;
    std::size_t index;
    random_source random;
    std::uint64_t range;
    double updates;
    retired_nodes<lazy_list::node> retired;
    // In turn, as Synchrobench does: the number put in is the next one taken out.
    bool takes_out = false;
    std::int64_t last = 0;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    auto key = static_cast<std::int64_t>(me.random.below(me.range));
    threads.begins(me.index);
    if (!me.random.chance(me.updates)) {
      do_not_optimize(bucket(key).has(key));
    } else if (me.takes_out) {
      if (lazy_list::node* const out = bucket(me.last).remove(me.last, meter)) {
        me.retired.put(out);
        --me.changed;
      }
      me.takes_out = false;
    } else if (add(key, meter, [&] { return reuse(me); })) {
      ++me.changed;
      me.last = key;
      me.takes_out = true;
    }
    threads.ended(me.index);
    return 1;
  }

  template <class Meter, class Make>
  bool add(std::int64_t key, Meter& meter, Make make) {
    return bucket(key).add(key, meter, make);
  }

  lazy_list& bucket(std::int64_t key) {
    return buckets[static_cast<std::size_t>(key) % buckets.size()];
  }

  static lazy_list::node* make_node() { return std::make_unique<lazy_list::node>().release(); }

  // A mutex that others may have waited for is not destroyed.
  static lazy_list::node* reuse(thread_state& me) {
    lazy_list::node* const old = me.retired.take();
    return old != nullptr ? old : make_node();
  }

  static std::uint64_t taken() { return 0; }

  [[nodiscard]] std::string find_fault(std::uint64_t /*operations*/) const {
    std::int64_t there = 0;
    for (const lazy_list& one : buckets) {
      const std::int64_t size = one.size();
      if (size < 0) {
        return "a list is not sorted any more";
      }
      there += size;
    }
    const bool right = there == static_cast<std::int64_t>(initial) + changes.load();
    return right ? "" : "numbers were lost or are there twice";
  }

  std::vector<lazy_list> buckets;
  quiescence threads;
  std::uint64_t initial = 0;
  alignas(cache_line_pair) std::atomic<std::int64_t> changes{0};
};

description set_of(const char* name, const char* measures, const char* source, double buckets) {
  return {
      .name = name,
      .measures = measures,
      .source = source,
      .operation = "operations",
      .parameters = {{"initial", 4096, "",
                      "numbers in it at the start; the paper has 4096 to 32768"},
                     {"range", 65536, "", "numbers are drawn from below this", 1},
                     {"update-percent", 20, "%", "operations that put a number in or take it out"},
                     {"buckets", buckets, "", "lists over which the numbers are spread", 1}},
      .run = run_workload<set_of_lists>,
  };
}

}  // namespace

const description lazy_list_set = set_of(
    "lazy-list", "threads that mostly look numbers up in a sorted list with a mutex in each node",
    "Gramoli, Synchrobench, PPoPP 2015, lazy list; Marotta et al., Mutable Locks, 2019, figure 7",
    1);
const description hash_set = set_of(
    "hash-set", "threads that mostly look numbers up in a hash table of short lists with mutexes",
    "Gramoli, Synchrobench, PPoPP 2015, hash table; Marotta et al., Mutable Locks, 2019, figure 6",
    4096);

}  // namespace bench
