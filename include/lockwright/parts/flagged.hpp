// Pointers with flags in the low bits, which the alignment leaves free.
#pragma once

#include <cstdint>

namespace lockwright {

template <class T>
struct flagged {
  static constexpr std::uintptr_t flag_bits = alignof(T) - 1;

  /// Adds flags to `word`.
  static T* make(T* word, std::uintptr_t flags) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(word) | flags);
  }
  static T* pointer(T* word) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(word) & ~flag_bits);
  }
  static std::uintptr_t flags(T* word) {
    return reinterpret_cast<std::uintptr_t>(word) & flag_bits;
  }
  /// True if it has one of these flags.
  static bool has(T* word, std::uintptr_t any) { return (flags(word) & any) != 0; }
};

}  // namespace lockwright
