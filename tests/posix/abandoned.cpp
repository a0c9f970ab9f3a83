// Mutexes that no thread destroys, as with std::mutex, and mutexes that are copied while they
// are free. A lock's memory outside of mutexes is bounded by the mutexes that exist.
#include "../support/check.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <mutex>

namespace {

// Returns the bytes of memory of all locks, or, without a library that counts them, of the process.
std::int64_t memory() {
  static void* const counter = dlsym(RTLD_DEFAULT, "lockwright_memory_taken");
  return counter == nullptr
             ? check::anonymous_bytes()
             : static_cast<std::int64_t>(reinterpret_cast<std::uint64_t (*)()>(counter)());
}

constexpr int alive = 100;
constexpr int rounds = 2'500;  // of `alive` mutexes each

void use(std::mutex* mutexes) {
  for (int i = 0; i < alive; ++i) {
    mutexes[i].lock();
    mutexes[i].unlock();
  }
}

// `first_mutexes` is the memory of the first `alive` mutexes of the process.
struct {
  std::int64_t before = 0;
  std::int64_t first_mutexes = 0;
} measured;

// Checks for twice the memory of `times * alive` mutexes, plus one block that memory is cut from.
std::string bounded_by(int times) {
  const std::int64_t grown = memory() - measured.before;
  CHECK(grown <= 2 * times * measured.first_mutexes + (512 << 10));
  return "has taken " + std::to_string(grown >> 10) + " KiB";
}

// Each round has `alive` new mutexes, which make_and_use() does not destroy. `earlier` cases have
// left as many in memory that may not be overwritten yet.
template <class Round>
std::string bounded_by_live_mutexes(Round make_and_use, int earlier) {
  for (int round = 0; round < rounds; ++round) make_and_use();
  return bounded_by(1 + earlier);
}

void round_on_stack() {
  std::mutex mutexes[alive];
  use(mutexes);
}

void round_on_heap() {
  const std::unique_ptr<std::mutex[]> mutexes{new std::mutex[alive]};
  use(mutexes.get());
}

void round_mapped() {
  constexpr std::size_t bytes = alive * sizeof(std::mutex);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  use(static_cast<std::mutex*>(memory));  // zeroed, as the constructor leaves them
  CHECK(munmap(memory, bytes) == 0);
}

CASE("on the stack") { return bounded_by_live_mutexes(round_on_stack, 1); };
CASE("on the heap") { return bounded_by_live_mutexes(round_on_heap, 1); };
CASE("in memory that is unmapped") { return bounded_by_live_mutexes(round_mapped, 2); };

// Threads abandon mutexes at the same time, and all use permanent ones.
CASE("by several threads") {
  static std::mutex permanent[alive];
  static long counts[alive];
  use(permanent);
  constexpr int threads = 2;
  check::in_parallel(threads, [](int) {
    for (int round = 0; round < rounds / 10; ++round) {
      round_on_stack();
      for (int i = 0; i < alive; ++i) {
        const std::lock_guard inside{permanent[i]};
        counts[i] = counts[i] + 1;
      }
    }
  });
  for (const long count : counts) CHECK_EQ(threads * rounds / 10, count);
  // The permanent mutexes, those of the last two cases, and for each thread its mutexes and those
  // that its stack held before.
  return bounded_by(3 + 2 * threads);
};

void use_contended(pthread_mutex_t* mutex) {
  OK(pthread_mutex_lock(mutex));
  check::Waiter waiter{mutex};
  OK(pthread_mutex_unlock(mutex));
  waiter.join();
}

void check_independent(pthread_mutex_t* first, pthread_mutex_t* second) {
  OK(pthread_mutex_lock(first));
  OK(pthread_mutex_trylock(second));
  CHECK(!check::is_free(first));
  CHECK(!check::is_free(second));
  OK(pthread_mutex_unlock(first));
  CHECK(check::is_free(first));
  CHECK(!check::is_free(second));
  OK(pthread_mutex_unlock(second));
  CHECK(check::is_free(second));
  use_contended(first);
  use_contended(second);
}

CASE("a copy is another mutex") {
  for (int used = 1; used < 10; ++used) {
    pthread_mutex_t original = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < used; ++i) {
      OK(pthread_mutex_lock(&original));
      OK(pthread_mutex_unlock(&original));
    }
    pthread_mutex_t copy;
    std::memcpy(&copy, &original, sizeof copy);
    check_independent(&original, &copy);
    pthread_mutex_t second;
    std::memcpy(&second, &original, sizeof copy);
    OK(pthread_mutex_destroy(&original));
    check_independent(&second, &copy);
  }
};

// Copies free mutexes, as a growing array does.
CASE("moved again and again") {
  std::size_t number = 1;
  auto* mutexes = static_cast<pthread_mutex_t*>(std::calloc(number, sizeof(pthread_mutex_t)));
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < number; ++i) OK(pthread_mutex_lock(&mutexes[i]));
    for (std::size_t i = 0; i < number; ++i) OK(pthread_mutex_unlock(&mutexes[i]));
    auto* moved = static_cast<pthread_mutex_t*>(std::calloc(2 * number, sizeof(pthread_mutex_t)));
    std::memcpy(static_cast<void*>(moved), mutexes, number * sizeof(pthread_mutex_t));
    std::memset(static_cast<void*>(mutexes), 0xD5, number * sizeof(pthread_mutex_t));
    std::free(mutexes);
    mutexes = moved;
    number *= 2;
  }
  std::free(mutexes);
};

}  // namespace

int main(int argc, char** argv) {
  measured.before = memory();
  round_on_stack();
  measured.first_mutexes = memory() - measured.before;
  return check::run(argc, argv);
}
