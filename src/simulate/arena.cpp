#include "arena.hpp"

#include <sys/mman.h>

#include "machine.hpp"

namespace lockwright::simulate {

void arena::open() {
  if (open_) {
    return;
  }
  void* const wish = reinterpret_cast<void*>(base);
  void* const got = mmap(wish, capacity, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wish) {
    refuse("64 GiB of address space cannot be had; raise the limit ('ulimit -v')");
  }
  open_ = true;
}

arena::~arena() {
  if (open_) {
    munmap(reinterpret_cast<void*>(base), capacity);
  }
}

void* arena::cut(std::size_t bytes, std::size_t alignment) {
  const std::size_t at = (used_ + alignment - 1) / alignment * alignment;
  if (bytes > capacity - at) {
    refuse("the simulated program takes more than 64 GiB; use fewer threads or locks");
  }
  used_ = at + bytes;
  return reinterpret_cast<void*>(base + at);
}

}  // namespace lockwright::simulate
