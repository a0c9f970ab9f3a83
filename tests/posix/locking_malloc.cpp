// A third-party preload library whose malloc takes a global mutex and one for each size.
#include <malloc.h>
#include <pthread.h>
#include <cstdlib>

extern "C" {
// The C library's allocator, under the names that it exports for such libraries.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t by_size[16];

struct Guard {
  explicit Guard(std::size_t size) : mutex{&by_size[size / 16 % 16]} {
    pthread_mutex_lock(&global);
    pthread_mutex_lock(mutex);
  }
  ~Guard() {
    pthread_mutex_unlock(&global);
    pthread_mutex_unlock(mutex);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  pthread_mutex_t* mutex;
};

void lock_all() {
  pthread_mutex_lock(&global);
  for (auto& mutex : by_size) pthread_mutex_lock(&mutex);
}

void unlock_all() {
  for (auto& mutex : by_size) pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&global);
}

[[gnu::constructor]] void register_handlers() { pthread_atfork(lock_all, unlock_all, unlock_all); }

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  const Guard guard{size};
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  const Guard guard{size};
  return __libc_calloc(number, size);
}

void* realloc(void* memory, std::size_t size) {
  const Guard guard{size};
  return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  const Guard guard{size};
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory != nullptr ? 0 : 12;  // ENOMEM
}

void free(void* memory) {
  const Guard guard{reinterpret_cast<std::size_t>(memory)};
  __libc_free(memory);
}

}  // extern "C"
