// Pointers that carry flags in the bits that the alignment of what they point at
// leaves free.
#pragma once

#include <cstdint>

namespace lockwright {

template <class T>
struct flagged {
  static constexpr std::uintptr_t flag_bits = alignof(T) - 1;

  /// `word` with these flags, too.
  static T* make(T* word, std::uintptr_t flags) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(word) | flags);
  }
  static T* pointer(T* word) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(word) & ~flag_bits);
  }
  static std::uintptr_t flags(T* word) {
    return reinterpret_cast<std::uintptr_t>(word) & flag_bits;
  }
  /// Whether it has one of these.
  static bool has(T* word, std::uintptr_t any) { return (flags(word) & any) != 0; }
};

}  // namespace lockwright
