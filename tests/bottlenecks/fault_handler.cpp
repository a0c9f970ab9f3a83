// Every thread repeatedly creates objects with a mutex in new memory, and unmaps the memory: most
// of the time all threads are in the kernel's page-fault handler, under one lock.
#include <sys/mman.h>
#include <new>
#include "work.hpp"

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 64;

struct chunk {
  pthread_mutex_t mutex;
  unsigned char data[4 * page - sizeof(pthread_mutex_t)];
};

chunk* new_chunks() {
  void* memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  return static_cast<chunk*>(memory);
}

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{400}};
  work::in_threads(work::processors(), [&](unsigned) {
    while (clock.runs()) {
      chunk* const chunks = new_chunks();
      for (std::size_t i = 0; i < pages / 4; ++i) {
        pthread_mutex_init(&chunks[i].mutex, nullptr);
        const work::guard hold{chunks[i].mutex};
        for (std::size_t offset = 0; offset < sizeof chunks[i].data; offset += page)
          chunks[i].data[offset] = 1;
      }
      for (std::size_t i = 0; i < pages / 4; ++i) pthread_mutex_destroy(&chunks[i].mutex);
      munmap(chunks, pages * page);
    }
  });
}
