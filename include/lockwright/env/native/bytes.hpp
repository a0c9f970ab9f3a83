// Access to parts of a word, which std::atomic does not have; the processors' coherence orders
// accesses of different sizes to the same line.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright::native_env {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

/// True if the code is compiled for ThreadSanitizer.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_thread_sanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool is_thread_sanitized = false;
#endif

inline std::uint8_t* low_byte(std::atomic<std::uint64_t>& word) {
  return reinterpret_cast<std::uint8_t*>(&word);
}

inline const std::uint8_t* second_byte(const std::atomic<std::uint64_t>& word) {
  return reinterpret_cast<const std::uint8_t*>(&word) + 1;
}

inline const std::uint32_t* high_half(const std::atomic<std::uint64_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word) + 1;
}

}  // namespace lockwright::native_env
