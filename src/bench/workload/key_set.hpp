// The keys that a thread uses (Dice, "Malthusian Locks", the driver of keymap and LRUCache).
#pragma once

#include <random>
#include <vector>

#include "settings.hpp"

namespace bench {

// Parameters: keys, the number of keys; set-size, the number that a thread uses; replace-share, the
// share of draws that replace a key of the set.
class key_set {
 public:
  key_set(const settings& given, std::mt19937& random)
      : any_{0, static_cast<int>(given.count("keys", 1)) - 1},
        replace_{given.real("replace-share")},
        keys_(given.count("set-size", 1)),
        place_{0, keys_.size() - 1} {
    for (int& key : keys_) {
      key = any_(random);
    }
  }

  int draw(std::mt19937& random) {
    int& key = keys_[place_(random)];
    if (replace_(random)) {
      key = any_(random);
    }
    return key;
  }

 private:
  std::uniform_int_distribution<int> any_;
  std::bernoulli_distribution replace_;
  std::vector<int> keys_;
  std::uniform_int_distribution<std::size_t> place_;
};

}  // namespace bench
