// Memory of a workload, so large that it fills caches.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "support.hpp"

namespace bench {

// A resident array of zeros: each page has been written to, and is a huge page if
// the kernel provides one.
template <class T>
class pages_of {
 public:
  explicit pages_of(std::size_t count, bool large_pages = true)
      : count_{count}, bytes_{count * sizeof(T)} {
    void* const at =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      fail(std::string("cannot map the workload's memory: ") + std::strerror(errno));
    }
    // Without this advice the workload is the same, with more TLB misses.
    madvise(at, bytes_, large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    first_ = static_cast<T*>(at);
    std::memset(at, 0, bytes_);
  }
  ~pages_of() { munmap(first_, bytes_); }
  pages_of(const pages_of&) = delete;
  pages_of& operator=(const pages_of&) = delete;

  T& operator[](std::size_t i) { return first_[i]; }
  T* data() { return first_; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  std::size_t count_;
  std::size_t bytes_;
  T* first_;
};

// Uses a value, so that the compiler does not remove its computation.
template <class T>
void do_not_optimize(const T& value) {
  asm volatile("" : : "r"(value));
}

}  // namespace bench
