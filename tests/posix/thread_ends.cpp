// Threads that end while they hold mutexes: by pthread_exit, with and without cleanup
// handlers. A mutex that a thread held stays held until another thread releases it.
#include "../support/children.hpp"

#include <mutex>

namespace {

void release(void* mutex) { OK(pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex))); }

// Released by a clean-up handler, and by an object whose scope the thread leaves as it ends.
CASE("cleaned up") {
  for (const int type : check::all_types) {
    check::Mutex mutex{type};
    std::mutex scoped;
    volatile int ended = 0;
    for (int i = 0; i < 20; ++i)
      check::Worker([&](check::Worker&) {
        const std::lock_guard guard{scoped};
        OK(pthread_mutex_lock(mutex));
        pthread_cleanup_push(release, mutex);
        ended = ended + 1;
        pthread_exit(nullptr);
        pthread_cleanup_pop(0);
      }).join();
    CHECK_EQ(20, ended);
    CHECK(check::is_free(mutex));
    CHECK(check::is_free(scoped.native_handle()));
  }
};

// Released in the destructors of a key and of a thread-local object, after the thread's function.
pthread_mutex_t by_key = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t by_object = PTHREAD_MUTEX_INITIALIZER;
struct Holder {
  bool holds = false;
  ~Holder() {
    if (holds) release(&by_object);
  }
};
thread_local Holder holder;

CASE("released by destructors") {
  pthread_key_t key;
  OK(pthread_key_create(&key, release));
  for (int i = 0; i < 50; ++i)
    check::Worker([&](check::Worker&) {
      OK(pthread_mutex_lock(&by_key));
      OK(pthread_mutex_lock(&by_object));
      holder.holds = true;
      OK(pthread_setspecific(key, &by_key));
      pthread_exit(nullptr);
    }).join();
  CHECK(check::is_free(&by_key));
  CHECK(check::is_free(&by_object));
  OK(pthread_key_delete(key));
};

// Threads queue for a mutex that this thread releases in place of its ended owner. The
// C library allows that for the types that do not check the owner.
CASE("left held") {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    for (int round = 0; round < 5; ++round) {
      pthread_mutex_t mutexes[3];
      for (auto& mutex : mutexes) check::init_mutex(&mutex, type);
      check::Worker([&](check::Worker&) {
        for (auto& mutex : mutexes) OK(pthread_mutex_lock(&mutex));
        pthread_exit(nullptr);
      }).join();
      check::Waiter first{&mutexes[0]};
      check::Waiter second{&mutexes[0]};
      for (auto& mutex : mutexes) CHECK(!check::is_free(&mutex));
      CHECK(!first.is_admitted() && !second.is_admitted());
      for (auto& mutex : mutexes) OK(pthread_mutex_unlock(&mutex));
      first.join();
      second.join();
      for (auto& mutex : mutexes) {
        CHECK(check::is_free(&mutex));
        OK(pthread_mutex_destroy(&mutex));
      }
    }
  }
};

// The first thread ends and the process continues.
CASE("first thread ends") {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_t first;
    first = pthread_self();
    OK(pthread_mutex_lock(&mutex));
    auto go_on = [](void*) -> void* {
      OK(pthread_join(first, nullptr));
      CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
      OK(pthread_mutex_unlock(&mutex));
      OK(pthread_mutex_lock(&mutex));
      std::exit(0);
    };
    pthread_t other;
    OK(pthread_create(&other, nullptr, go_on, nullptr));
    pthread_exit(nullptr);
  }
  check::await_child(pid);
};

}  // namespace
