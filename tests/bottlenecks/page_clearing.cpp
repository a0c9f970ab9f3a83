// One thread creates 100,000 objects with a mutex each, in memory that the kernel clears page by
// page; then each thread visits the objects of a part.
#include <sys/mman.h>
#include <new>
#include "work.hpp"

namespace {

struct alignas(64) molecule {
  pthread_mutex_t mutex;
  std::uint64_t position;
  unsigned char state[704];
};

constexpr unsigned count = 100'000;
constexpr unsigned visits = 300'000;

// Maps pages of the usual size, even if the kernel would use larger ones.
molecule* map_molecules() {
  void* memory = mmap(nullptr, count * sizeof(molecule), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  madvise(memory, count * sizeof(molecule), MADV_NOHUGEPAGE);
  return static_cast<molecule*>(memory);
}

}  // namespace

int main() {
  molecule* const all = map_molecules();
  for (unsigned i = 0; i < count; ++i) pthread_mutex_init(&all[i].mutex, nullptr);
  const unsigned threads = work::processors();
  work::in_threads(threads, [&](unsigned number) {
    for (unsigned visit = 0; visit < visits / threads; ++visit) {
      molecule& each = all[(number * (count / threads) + visit) % count];
      const work::guard hold{each.mutex};
      ++each.position;
      work::compute(5'000);
    }
  });
}
