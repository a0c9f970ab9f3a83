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

int main(int count_of_words, char** words) {
  const work::changes given{count_of_words, words, {"--parallel", "--table"}};
  const unsigned table = given.count("--table", 1);
  const bool in_parallel = given.has("--parallel");
  work::meter meter;
  molecule* const all = map_molecules();
  const unsigned threads = work::processors();
  const auto create = [&](unsigned first, unsigned end) {
    for (unsigned i = first; i < end; ++i) pthread_mutex_init(&all[i].mutex, nullptr);
  };
  if (!in_parallel) create(0, count);
  work::in_threads(threads, [&](unsigned number) {
    const unsigned part = count / threads;
    if (in_parallel) create(number * part, number + 1 == threads ? count : (number + 1) * part);
    for (unsigned visit = 0; visit < visits / threads; ++visit) {
      const unsigned index = (number * part + visit % part) % count;
      const work::guard hold{all[table == 1 ? index : index % table].mutex};
      ++all[index].position;
      work::compute(5'000);
    }
  });
  meter.add(visits);
}
