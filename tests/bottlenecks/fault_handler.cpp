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

int main(int count, char** words) {
  const work::changes given{count, words, {"--reuse", "--shared"}};
  const bool reuses = given.has("--reuse");
  // One mutex for all objects of a thread instead of one in each.
  const bool is_shared = given.has("--shared");
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{400}};
  work::in_threads(work::processors(), [&](unsigned) {
    pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
    chunk* chunks = nullptr;
    std::uint64_t created = 0;
    for (; clock.runs(); created += pages / 4) {
      if (chunks == nullptr) chunks = new_chunks();
      for (std::size_t i = 0; i < pages / 4; ++i) {
        if (!is_shared) pthread_mutex_init(&chunks[i].mutex, nullptr);
        const work::guard hold{is_shared ? common : chunks[i].mutex};
        for (std::size_t offset = 0; offset < sizeof chunks[i].data; offset += page)
          chunks[i].data[offset] = 1;
      }
      for (std::size_t i = 0; i < pages / 4 && !is_shared; ++i)
        pthread_mutex_destroy(&chunks[i].mutex);
      if (!reuses) {
        munmap(chunks, pages * page);
        chunks = nullptr;
      }
    }
    meter.add(created);
  });
}
