// Sections that read and write much data, so that the threads that circulate share the caches:
// random-array, ring-walker, keymap, lru-cache.
//
// An environment has the data: `array`, `ring`, `key_map` and `key_cache`; and `keys`, those that a
// thread uses (Dice, "Malthusian Locks", the driver of keymap and LRUCache).
#pragma once

#include <string>

#include "description.hpp"

namespace lockwright::workloads {

// Data for all in the sections, between sections data of the thread's own.
template <class Env, class Data>
struct two_sets : with_one<typename Env::mutex> {
  explicit two_sets(const typename Env::settings& given)
      : with_one<typename Env::mutex>{given}, data{given, 0} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(two_sets& /*w*/, const typename Env::settings& given, std::size_t index)
        : section{given.count(Data::in_section)},
          gap{given.count(Data::in_gap)},
          random{given.random(index)},
          data{given, index + 1} {}
    std::uint64_t section;
    std::uint64_t gap;
    typename Env::random random;
    Data data;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    data.read(me.section, me.random);
    meter.unlock(this->shared);
    me.data.read(me.gap, me.random);
    return 1;
  }

  alignas(cache_line_pair) Data data;
};

inline const description random_array{
    .name = "random-array",
    .measures =
        "threads that read at random from a shared array under a mutex, and from one of "
        "their own without",
    .source = "Dice, Malthusian Locks, EuroSys 2017, RandArray, figures 3 and 4",
    .operation = "iterations",
    .parameters = {{"words", 262144, "words", "length of each array, in words of 4 bytes", 1},
                   {"section-reads", 100, "", "reads of the shared array, under the mutex"},
                   {"gap-reads", 400, "", "reads of the thread's own array"}},
    .one_mutex = true,
};

inline const description ring_walker{
    .name = "ring-walker",
    .measures =
        "threads that walk over the pages of a shared ring under a mutex, and over those "
        "of one of their own without",
    .source = "Dice, Malthusian Locks, EuroSys 2017, RingWalker, figure 5",
    .operation = "iterations",
    .parameters = {{"elements", 50, "", "elements of each ring", 1},
                   {"element-bytes", 8192, "bytes",
                    "distance of two elements; each lies at random within it", 64},
                   {"section-steps", 10, "", "elements of the shared ring, under the mutex"},
                   {"gap-steps", 50, "", "elements of the thread's own ring"}},
    .one_mutex = true,
};

// A structure that is used with a key at a time. Each thread uses some keys again and again, and changes
// them slowly.
template <class Env, class Store>
struct keyed : with_one<typename Env::mutex> {
  explicit keyed(const typename Env::settings& given)
      : with_one<typename Env::mutex>{given}, store{given} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(keyed& /*w*/, const typename Env::settings& given, std::size_t number)
        : keys{given, number}, own{given}, index{number} {}
    typename Env::keys keys;
    typename Store::own own;
    std::size_t index;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    me.keys.pass_gap();
    meter.lock(this->shared);
    store.use(me.keys.draw(), me.own, me.index);
    ++used;
    meter.unlock(this->shared);
    return 1;
  }

  // Of the run with its warm-up, which fills a cache, so misses are more frequent at first.
  template <class Line, class Record>
  void report(Line& line, const Record& /*done*/) {
    this->shared.lock();
    store.report(line);
    this->shared.unlock();
  }

  [[nodiscard]] std::string find_fault(std::uint64_t operations) const {
    return used == operations && store.is_whole() ? "" : "updates were lost";
  }

  // Guarded by the mutex.
  alignas(cache_line_pair) Store store;
  std::uint64_t used = 0;
};

inline const description keymap{
    .name = "keymap",
    .measures = "threads that update a shared map under a mutex, each mostly at keys of its own",
    .source = "Dice, Malthusian Locks, EuroSys 2017, keymap, figure 11",
    .operation = "updates",
    .parameters = {{"keys", 10'000'000, "", "keys of the map, all of them in it from the start", 1},
                   {"set-size", 1000, "", "keys that a thread uses", 1},
                   {"replace-share", 0.1, "", "share of the updates that take another key instead"},
                   {"gap-steps", 1000, "", "steps of a Mersenne twister between two updates"}},
    .one_mutex = true,
};

inline const description lru_cache{
    .name = "lru-cache",
    .measures = "threads that look keys up in a cache of the last used ones, under a mutex",
    .source = "Dice, Malthusian Locks, EuroSys 2017, LRUCache, figure 12",
    .operation = "look-ups",
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
};

}  // namespace lockwright::workloads
