// The step by which a reader enters a lock whose word counts the readers inside.
#pragma once

#include <atomic>

#include "lockwright/rwlock.hpp"

namespace lockwright {

/// Adds `one_reader` to `word`, unless check(word) returns why it may not: refused or too_many.
/// check() is called only if one of the bits `doubts` is set, so that almost all readers take one
/// comparison. It has to be always inline, as a call would make the entry points save registers.
template <class Word, class Bits, class Check>
[[gnu::always_inline]] inline admission enter_as_reader(Word& word, Bits one_reader, Bits doubts,
                                                        Check check) {
  Bits seen = word.load(std::memory_order_relaxed);
  do {
    if ((seen & doubts) != 0) [[unlikely]] {
      if (const admission outcome = check(seen); outcome != admission::inside) {
        return outcome;
      }
    }
    // Acquire pairs with the releases of a writer that leaves.
  } while (!word.compare_exchange_weak(seen, seen + one_reader, std::memory_order_acquire,
                                       std::memory_order_relaxed));
  return admission::inside;
}

}  // namespace lockwright
