// The memory of a mutex is reused: after destroy, after being zeroed, after a second init, and
// after the last user of the object around it has freed that object.
#include "../support/check.hpp"

#include <sys/mman.h>

namespace {

// Leaves the mutex unlocked, after two threads have queued for it.
void use_contended(pthread_mutex_t* mutex) {
  OK(pthread_mutex_lock(mutex));
  check::Waiter first{mutex};
  check::Waiter second{mutex};
  OK(pthread_mutex_unlock(mutex));
}

CASE("destroy and reuse") {
  pthread_mutex_t mutex;
  for (int round = 0; round < 3; ++round)
    for (const int type : check::all_types) {
      std::memset(&mutex, 0xA5, sizeof mutex);  // init must not depend on earlier contents
      check::init_mutex(&mutex, type);
      CHECK(check::is_free(&mutex));
      use_contended(&mutex);
      OK(pthread_mutex_lock(&mutex));
      if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
      }
      OK(pthread_mutex_unlock(&mutex));
      OK(pthread_mutex_destroy(&mutex));
    }
};

CASE("zeroed without destroy") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < 10; ++round) {
    use_contended(&mutex);
    std::memset(&mutex, 0, sizeof mutex);
    OK(pthread_mutex_trylock(&mutex));
    CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
};

CASE("initialised twice") {
  pthread_mutex_t mutex;
  for (int round = 0; round < 10; ++round) {
    OK(pthread_mutex_init(&mutex, nullptr));
    OK(pthread_mutex_init(&mutex, nullptr));
    use_contended(&mutex);
    OK(pthread_mutex_init(&mutex, nullptr));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_init(&mutex, nullptr));  // the result is a new, unlocked mutex
    CHECK(check::is_free(&mutex));
    use_contended(&mutex);
  }
};

struct Object {
  pthread_mutex_t mutex;
  long users;
};

// Two threads drop the last references to an object; the thread that counts down to zero frees
// it after its unlock. An unlock that accesses the mutex after another thread could take it reads
// unmapped memory, or overwrites the poison.
std::string freed_by_the_last_user(bool unmap) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr int threads = 2;
  constexpr int most = 3'000;
  const check::Budget budget{200};
  check::SpinBarrier barrier{threads};
  std::vector<Object*> objects;
  std::atomic<Object*> current{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<long> freed{0};
  check::in_parallel(threads, [&](int i) {
    for (;;) {
      if (i == 0) {
        stop = budget.spent() || objects.size() >= most;
        void* memory =
            mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        auto* object = static_cast<Object*>(memory);
        check::init_mutex(&object->mutex, PTHREAD_MUTEX_NORMAL);
        object->users = threads;
        objects.push_back(object);
        current = object;
      }
      barrier.arrive_and_wait();
      if (stop) return;
      Object* object = current;
      OK(pthread_mutex_lock(&object->mutex));
      const long left = --object->users;
      OK(pthread_mutex_unlock(&object->mutex));
      if (left == 0) {
        OK(pthread_mutex_destroy(&object->mutex));
        if (unmap)
          CHECK(munmap(object, page) == 0);
        else
          std::memset(static_cast<void*>(object), 0xD5, page);
        ++freed;
      }
      barrier.arrive_and_wait();
    }
  });
  objects.pop_back();  // the last object was not used
  CHECK_EQ(static_cast<long>(objects.size()), freed.load());
  if (!unmap)
    for (Object* object : objects) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(object);
      for (std::size_t b = 0; b < page; ++b) CHECK_EQ(0xD5, bytes[b]);
      CHECK(munmap(object, page) == 0);
    }
  return "objects " + std::to_string(freed.load());
}

CASE("unmapped by the last user") { return freed_by_the_last_user(true); };
CASE("overwritten by the last user") { return freed_by_the_last_user(false); };

}  // namespace
