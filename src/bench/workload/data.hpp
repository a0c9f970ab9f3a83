// The data that sections read and write.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "../../calibrate/memory.hpp"
#include "../../calibrate/random_cycle.hpp"
#include "settings.hpp"

namespace bench {

// Read all over.
class array {
 public:
  static constexpr const char* in_section = "section-reads";
  static constexpr const char* in_gap = "gap-reads";

  array(const settings& given, std::uint64_t /*number*/) : words_{given.count("words", 1)} {}

  void read(std::uint64_t count, random_source& random) {
    for (std::uint64_t i = 0; i < count; ++i) {
      do_not_optimize(words_[random.below(words_.size())]);
    }
  }

 private:
  pages_of<std::uint32_t> words_;
};

// A walk over pages, in a random order.
class ring {
 public:
  static constexpr const char* in_section = "section-steps";
  static constexpr const char* in_gap = "gap-steps";

  ring(const settings& given, std::uint64_t number)
      : bytes_(given.count("elements", 1) * given.count("element-bytes", sizeof(element)), false) {
    const std::uint64_t count = given.count("elements", 1);
    const std::uint64_t size = given.count("element-bytes", sizeof(element));
    random_source random(number);
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
  void read(std::uint64_t steps, random_source& /*random*/) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      here_ = here_->next;
    }
    do_not_optimize(here_);
  }

 private:
  struct element {
    element* next;
  };
  pages_of<char> bytes_;
  element* here_;
};

// The keys that a thread uses.
class keys {
 public:
  keys(const settings& given, std::size_t index)
      : random_{static_cast<std::mt19937::result_type>(index)},
        gap_{given.count("gap-steps")},
        any_{0, static_cast<int>(given.count("keys", 1)) - 1},
        replace_{given.real("replace-share")},
        keys_(given.count("set-size", 1)),
        place_{0, keys_.size() - 1} {
    for (int& key : keys_) {
      key = any_(random_);
    }
  }

  void pass_gap() { random_.discard(gap_); }

  int draw() {
    int& key = keys_[place_(random_)];
    if (replace_(random_)) {
      key = any_(random_);
    }
    return key;
  }

 private:
  std::mt19937 random_;
  std::uint64_t gap_;
  std::uniform_int_distribution<int> any_;
  std::bernoulli_distribution replace_;
  std::vector<int> keys_;
  std::uniform_int_distribution<std::size_t> place_;
};

struct nothing_of_a_thread {
  explicit nothing_of_a_thread(const settings& /*given*/) {}
};

class key_map {
 public:
  using own = nothing_of_a_thread;

  explicit key_map(const settings& given) {
    const auto count = static_cast<int>(given.count("keys", 1));
    map_.reserve(static_cast<std::size_t>(count));
    for (int key = 0; key < count; ++key) {
      map_.emplace(key, 0);
    }
  }

  void use(int key, own& /*of_thread*/, std::size_t /*thread*/) { ++map_[key]; }
  static void report(result& /*line*/) {}
  static bool is_whole() { return true; }

 private:
  std::unordered_map<int, int> map_;
};

// The keys used last: a map for finding and a list for the order of use, as the SimpleLRU of Ceph.
class key_cache {
 public:
  using own = nothing_of_a_thread;

  explicit key_cache(const settings& given) : capacity_{given.count("capacity", 1)} {}

  // Looks the key up, and puts it in where it is not there.
  void use(int key, own& /*of_thread*/, std::size_t thread) {
    ++looked_up_;
    if (const auto found = places_.find(key); found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    ++misses_;
    if (order_.size() == capacity_) {
      const entry& last = order_.back();
      ++(last.thread == thread ? own_displaced_ : others_displaced_);
      places_.erase(last.key);
      order_.pop_back();
    }
    order_.push_front({key, key, thread});
    places_.emplace(key, order_.begin());
  }

  void report(result& line) const {
    if (looked_up_ != 0) {
      line.field("miss_share", static_cast<double>(misses_) / static_cast<double>(looked_up_));
    }
    if (own_displaced_ + others_displaced_ != 0) {
      line.field("displaced_by_others",
                 static_cast<double>(others_displaced_) /
                     static_cast<double>(own_displaced_ + others_displaced_));
    }
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
  std::uint64_t looked_up_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t own_displaced_ = 0;
  std::uint64_t others_displaced_ = 0;
};

}  // namespace bench
