// The data that sections read and write, against the caches. What their structures would touch is
// counted, not done; what a step of a random number generator takes is an estimate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "../workload.hpp"

namespace lockwright::simulate {

inline constexpr std::uint64_t line_bytes = 64;

/// A set of bytes of which the calling thread reads some lines.
class set_of_lines {
 public:
  set_of_lines(simulation& in, std::uint64_t bytes) : in_{in}, set_{in.sets.add(bytes)} {}
  void read(std::uint64_t lines) {
    in_.read_data(in_.sets.read(set_, lines, in_.core_of(*in_.caller())));
  }

 private:
  simulation& in_;
  std::uint32_t set_;
};

class simulated_array {
 public:
  static constexpr const char* in_section = "section-reads";
  static constexpr const char* in_gap = "gap-reads";

  simulated_array(const context& with, std::uint64_t /*number*/)
      : lines_{with.in, with.count("words", 1) * sizeof(std::uint32_t)} {}
  void read(std::uint64_t reads, const drawing& /*random*/) { lines_.read(reads); }

 private:
  set_of_lines lines_;
};

/// Elements are on pages of their own, so that what they take up is the core's translations.
class simulated_ring {
 public:
  static constexpr const char* in_section = "section-steps";
  static constexpr const char* in_gap = "gap-steps";

  simulated_ring(const context& with, std::uint64_t /*number*/)
      : in_{with.in},
        lines_{with.in, with.count("elements", 1) * line_bytes},
        pages_{in_.translations.add(with.count("elements") *
                                    std::min<std::uint64_t>(with.count("element-bytes"), 4096))} {}
  void read(std::uint64_t steps, const drawing& /*random*/) {
    lines_.read(steps);
    in_.read_data(in_.translations.read(pages_, steps, in_.core_of(*in_.caller())));
  }

 private:
  simulation& in_;
  set_of_lines lines_;
  std::uint32_t pages_;
};

struct drawn_key {
  std::uint64_t key;
  bool is_new;
};

class simulated_keys {
 public:
  simulated_keys(const context& with, std::size_t index)
      : in_{with.in},
        random_{with.random(index)},
        gap_{with.lasting("gap-steps", cycles_of_number * in_.on().all.cycle)},
        keys_{with.count("keys", 1)},
        replace_{static_cast<std::uint64_t>(with.real("replace-share") * whole)},
        set_(with.count("set-size", 1)) {
    for (std::uint64_t& key : set_) {
      key = random_.below(keys_);
    }
  }

  /// Draws the key, too, which takes no simulated time.
  void pass_gap() {
    in_.work(gap_);
    std::uint64_t& one = set_[random_.below(set_.size())];
    const bool is_new = random_.below(whole) < replace_;
    one = is_new ? random_.below(keys_) : one;
    drawn_ = {one, is_new};
  }
  [[nodiscard]] const drawn_key& draw() const { return drawn_; }

 private:
  /// A step of libstdc++'s Mersenne twister, compiled by gcc 12: 5.3 ns at 3.1 GHz on an AMD EPYC, by
  /// `lockwright-bench keymap` with gaps of 1,000 and of 2,000 steps.
  static constexpr std::uint64_t cycles_of_number = 16;
  static constexpr std::uint64_t whole = 1'000'000;

  simulation& in_;
  drawing random_;
  picoseconds gap_;
  std::uint64_t keys_;
  std::uint64_t replace_;
  std::vector<std::uint64_t> set_;
  drawn_key drawn_{};
};

/// A hash map with a node for each key: a look-up touches the bucket, the node before and the node.
class simulated_key_map {
 public:
  struct own {
    explicit own(const context& with)
        : lines{with.in, with.count("set-size") * lines_of_key * line_bytes} {}
    set_of_lines lines;
  };

  explicit simulated_key_map(const context& with) : in_{with.in} {}

  void use(const drawn_key& key, own& of_thread, std::size_t /*thread*/) {
    if (key.is_new) {
      // Of lines that no thread has used lately.
      const auto& memory = in_.on().all.memory;
      in_.read_data(lines_of_key * memory[static_cast<std::size_t>(distance::node)]);
    } else {
      of_thread.lines.read(lines_of_key);
    }
  }
  static bool is_whole() { return true; }

 private:
  static constexpr std::uint64_t lines_of_key = 3;
  simulation& in_;
};

/// A map by key, whose path is some lines long, and a list in the order of use.
class simulated_key_cache {
 public:
  struct own {
    explicit own(const context& /*with*/) {}
  };

  explicit simulated_key_cache(const context& with)
      : capacity_{with.count("capacity", 1)},
        shared_{with.in, capacity_ * lines_of_entry * line_bytes} {
    for (std::uint64_t n = capacity_; n != 0; n /= 2) {
      ++path_;
    }
  }

  void use(const drawn_key& key, own& /*of_thread*/, std::size_t /*thread*/) {
    shared_.read(path_ + lines_of_entry);
    const auto found = places_.find(key.key);
    if (found != places_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    shared_.read(2 * path_);  // One is taken out of the map and one put in.
    if (order_.size() == capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(key.key);
    places_[key.key] = order_.begin();
  }
  static bool is_whole() { return true; }

 private:
  static constexpr std::uint64_t lines_of_entry = 2;

  std::uint64_t capacity_;
  std::uint64_t path_ = 0;
  set_of_lines shared_;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

}  // namespace lockwright::simulate
