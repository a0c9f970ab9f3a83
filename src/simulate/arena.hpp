// The memory of the simulated program, at the same addresses in every run: locks hash addresses, and
// which objects share a line has to be the same each time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockwright::simulate {

class arena {
 public:
  arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena();

  static constexpr std::uintptr_t base = std::uintptr_t{1} << 45;
  static constexpr std::size_t line_bytes = 64;
  static constexpr std::size_t capacity = std::size_t{1} << 36;

  /// Maps the arena, which takes memory only as it is written. Ends the program if that fails.
  void open();

  /// Zeroed, at a multiple of `alignment`. Ends the program when all is used.
  void* cut(std::size_t bytes, std::size_t alignment);

  static bool contains(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) - base < capacity;
  }

 private:
  std::size_t used_ = 4096;
  bool open_ = false;
};

}  // namespace lockwright::simulate
