// Every thread keeps making objects with a mutex in fresh memory, and gives the memory back: all of
// them are in the kernel's page-fault handler most of the time, where they share a lock.
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

chunk* fresh() {
  void* place =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw std::bad_alloc{};
  return static_cast<chunk*>(place);
}

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{400}};
  work::in_threads(work::processors(), [&](unsigned) {
    while (clock.runs()) {
      chunk* const chunks = fresh();
      for (std::size_t i = 0; i < pages / 4; ++i) {
        pthread_mutex_init(&chunks[i].mutex, nullptr);
        const work::guard hold{chunks[i].mutex};
        for (std::size_t at = 0; at < sizeof chunks[i].data; at += page) chunks[i].data[at] = 1;
      }
      for (std::size_t i = 0; i < pages / 4; ++i) pthread_mutex_destroy(&chunks[i].mutex);
      munmap(chunks, pages * page);
    }
  });
}
