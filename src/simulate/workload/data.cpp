// Sections that read and write much data, against the caches: random-array, ring-walker, keymap,
// lru-cache. What their structures would touch is counted, not done; what a step of a random number
// generator takes is an estimate.
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "workloads.hpp"

namespace lockwright::simulate {
namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t page_bytes = 4096;

/// A step of libstdc++'s Mersenne twister, compiled by gcc 12: 5.3 ns at 3.1 GHz on an AMD EPYC, by
/// `lockwright-bench keymap` with gaps of 1,000 and of 2,000 steps.
constexpr std::uint64_t cycles_of_number = 16;

/// A section with a shared set of data, and a gap with one of the thread's own.
class two_sets : public workload {
 public:
  two_sets(const context& with, std::uint64_t bytes, std::uint64_t section, std::uint64_t gap)
      : in_{with.in},
        section_{section},
        gap_{gap},
        shared_{in_.sets.add(bytes)},
        site_{with.make_site()} {
    for (std::uint64_t i = 0; i < with.threads(); ++i) {
      own_.push_back(in_.sets.add(bytes));
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    site_->lock();
    site_->change_data();
    read(shared_, section_);
    site_->unlock();
    read(own_[index], gap_);
    return 1;
  }

 protected:
  virtual void read(std::uint32_t set, std::uint64_t reads) {
    in_.read_data(in_.sets.read(set, reads, in_.core_of(*in_.caller())));
  }

  simulation& in_;

 private:
  std::uint64_t section_;
  std::uint64_t gap_;
  std::uint32_t shared_;
  std::vector<std::uint32_t> own_;
  std::unique_ptr<site> site_;
};

class random_array : public two_sets {
 public:
  explicit random_array(const context& with)
      : two_sets{with, with.given.count("words") * sizeof(std::uint32_t),
                 with.given.count("section-reads"), with.given.count("gap-reads")} {}
};

/// Elements are on pages of their own, so that what they take up is the core's translations.
class ring_walker : public two_sets {
 public:
  explicit ring_walker(const context& with)
      : two_sets{with, with.given.count("elements") * line_bytes, with.given.count("section-steps"),
                 with.given.count("gap-steps")} {
    for (std::uint64_t i = 0; i < with.threads() + 1; ++i) {
      pages_.push_back(in_.translations.add(with.given.count("elements") * page_bytes));
    }
  }

 private:
  void read(std::uint32_t set, std::uint64_t reads) override {
    two_sets::read(set, reads);
    in_.read_data(in_.translations.read(pages_[set], reads, in_.core_of(*in_.caller())));
  }

  std::vector<std::uint32_t> pages_;
};

/// Keys of a thread, of which one is now and then replaced.
class key_set {
 public:
  key_set(const context& with, random_source& random)
      : keys_{with.given.count("keys")},
        replace_{static_cast<std::uint64_t>(with.given.real("replace-share") * whole)},
        set_(with.given.count("set-size")) {
    for (std::uint64_t& key : set_) {
      key = random.below(keys_);
    }
  }

  struct drawn {
    std::uint64_t key;
    bool is_new;
  };
  drawn draw(random_source& random) {
    std::uint64_t& one = set_[random.below(set_.size())];
    if (random.below(whole) < replace_) {
      one = random.below(keys_);
      return {one, true};
    }
    return {one, false};
  }

 private:
  static constexpr std::uint64_t whole = 1'000'000;
  std::uint64_t keys_;
  std::uint64_t replace_;
  std::vector<std::uint64_t> set_;
};

class keyed : public workload {
 public:
  explicit keyed(const context& with)
      : in_{with.in},
        gap_{with.lasting("gap-steps", cycles_of_number * in_.on().all.cycle)},
        site_{with.make_site()},
        random_{with.given.count("seed")} {
    if (with.given.count("keys") == 0 || with.given.count("set-size") == 0) {
      refuse("'keys' and 'set-size' have to be at least 1");
    }
    for (std::uint64_t i = 0; i < with.threads(); ++i) {
      keys_.emplace_back(with, random_);
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    in_.work(gap_);
    const key_set::drawn key = keys_[index].draw(in_.caller()->random);
    site_->lock();
    site_->change_data();
    use(index, key);
    site_->unlock();
    return 1;
  }

 protected:
  virtual void use(std::uint32_t index, key_set::drawn key) = 0;
  void read(std::uint32_t set, std::uint64_t lines) {
    in_.read_data(in_.sets.read(set, lines, in_.core_of(*in_.caller())));
  }
  /// Of lines that no thread has used lately.
  void read_cold(std::uint64_t lines) {
    in_.read_data(lines * in_.on().all.memory[static_cast<std::size_t>(distance::node)]);
  }

  simulation& in_;

 private:
  picoseconds gap_;
  std::unique_ptr<site> site_;
  random_source random_;
  std::vector<key_set> keys_;
};

/// A hash map with a node for each key: a look-up touches the bucket, the node before and the node.
class keymap : public keyed {
 public:
  explicit keymap(const context& with) : keyed{with} {
    for (std::uint64_t i = 0; i < with.threads(); ++i) {
      own_.push_back(in_.sets.add(with.given.count("set-size") * lines_of_key * line_bytes));
    }
  }

 private:
  static constexpr std::uint64_t lines_of_key = 3;

  void use(std::uint32_t index, key_set::drawn key) override {
    if (key.is_new) {
      read_cold(lines_of_key);
    } else {
      read(own_[index], lines_of_key);
    }
  }

  std::vector<std::uint32_t> own_;
};

/// A map by key, whose path is some lines long, and a list in the order of use.
class lru_cache : public keyed {
 public:
  explicit lru_cache(const context& with) : keyed{with}, capacity_{with.given.count("capacity")} {
    if (capacity_ == 0) {
      refuse("'capacity' has to be at least 1");
    }
    for (std::uint64_t n = capacity_; n != 0; n /= 2) {
      ++path_;
    }
    shared_ = in_.sets.add(capacity_ * lines_of_entry * line_bytes);
  }

 private:
  static constexpr std::uint64_t lines_of_entry = 2;

  void use(std::uint32_t, key_set::drawn key) override {
    read(shared_, path_ + lines_of_entry);
    const auto found = places_.find(key.key);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    read(shared_, 2 * path_);  // One is taken out of the map and one put in.
    if (order_.size() == capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(key.key);
    places_[key.key] = order_.begin();
  }

  std::uint64_t capacity_;
  std::uint64_t path_ = 0;
  std::uint32_t shared_ = 0;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

}  // namespace

std::vector<description> workloads_of_data() {
  return {
      {"random-array",
       "sections that read all over a shared array, and gaps that read one of the thread's own",
       {{"words", 262144, "length of each array, in words of 4 bytes"},
        {"section-reads", 100, "reads of the shared array, with the lock"},
        {"gap-reads", 400, "reads of the thread's own array"}},
       make_workload<random_array>},
      {"ring-walker",
       "sections that walk a shared ring of pages, and gaps that walk one of the thread's own",
       {{"elements", 50, "elements of each ring"},
        {"section-steps", 10, "elements of the shared ring, with the lock"},
        {"gap-steps", 50, "elements of the thread's own ring"}},
       make_workload<ring_walker>},
      {"keymap",
       "threads that update a shared map with the lock, each mostly at keys of its own",
       {{"keys", 10'000'000, "keys of the map"},
        {"set-size", 1000, "keys that a thread uses"},
        {"replace-share", 0.1, "share of the updates that take another key instead"},
        {"gap-steps", 1000, "steps of a Mersenne twister between two updates"}},
       make_workload<keymap>},
      {"lru-cache",
       "threads that look keys up in a cache of the last used ones, with the lock",
       {{"capacity", 10000, "most that the cache holds"},
        {"keys", 1'000'000, "keys that there are"},
        {"set-size", 1000, "keys that a thread uses"},
        {"replace-share", 0.01, "share of the look-ups that take another key instead"},
        {"gap-steps", 1000, "steps of a Mersenne twister between two look-ups"}},
       make_workload<lru_cache>},
  };
}

}  // namespace lockwright::simulate
