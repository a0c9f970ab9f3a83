// A program without a race, for race detectors, and one with a race; the first argument
// chooses. Only objects of POSIX and C++ order the threads: no atomics, which some of the
// tools do not know.
#include <semaphore.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "../support/check.hpp"

namespace {

constexpr int threads = 3;
constexpr int rounds = 40;

template <class Body>
void in_parallel(Body body) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(body, i);
  for (auto& each : all) each.join();
}

// A thread reads what another has written, and its stack is reused for other data.
void by_mutex(int type) {
  check::Mutex mutex{type};
  int counter = 0;
  in_parallel([&](int which) {
    for (int i = 0; i < rounds; ++i) {
      int result = 0;
      const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
      switch ((i + which) % 3) {
        case 0:
          result = pthread_mutex_lock(mutex);
          break;
        case 1:
          result = pthread_mutex_trylock(mutex);
          if (result != 0) result = pthread_mutex_lock(mutex);
          break;
        default:
          result = pthread_mutex_timedlock(mutex, &late);
          break;
      }
      OK(result);
      if (type == PTHREAD_MUTEX_RECURSIVE) OK(pthread_mutex_lock(mutex));
      // So that others sleep meanwhile, those with a deadline too.
      const timespec moment{0, 300'000};
      if (i % 8 == 0) nanosleep(&moment, nullptr);
      ++counter;
      if (type == PTHREAD_MUTEX_RECURSIVE) OK(pthread_mutex_unlock(mutex));
      ++counter;
      OK(pthread_mutex_unlock(mutex));
    }
  });
  if (counter != 2 * threads * rounds) std::exit(1);
}

// Objects that contain a mutex are created and destroyed in the same memory, with other uses
// between.
void in_reused_memory() {
  struct Object {
    std::mutex mutex;
    int value = 0;
  };
  for (int i = 0; i < 10; ++i) {
    auto object = std::make_unique<Object>();
    in_parallel([&](int) {
      for (int round = 0; round < 5; ++round) {
        const std::lock_guard guard{object->mutex};
        ++object->value;
      }
    });
    if (object->value != threads * 5) std::exit(1);
    object.reset();
    auto plain = std::make_unique<char[]>(sizeof(Object));
    in_parallel([&](int which) { plain[static_cast<std::size_t>(which)] = 1; });
  }
}

// A queue, whose items belong to the thread that takes them.
void by_condition_variable() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::vector<std::unique_ptr<int>> queue;
  int taken = 0;
  in_parallel([&](int which) {
    if (which == 0) {
      for (int i = 0; i < (threads - 1) * rounds; ++i) {
        auto item = std::make_unique<int>(0);
        *item = i;
        OK(pthread_mutex_lock(&mutex));
        queue.push_back(std::move(item));
        OK(i % 2 == 0 ? pthread_cond_signal(&changed) : pthread_cond_broadcast(&changed));
        OK(pthread_mutex_unlock(&mutex));
      }
      return;
    }
    for (int i = 0; i < rounds; ++i) {
      OK(pthread_mutex_lock(&mutex));
      while (queue.empty()) {
        if (i % 2 == 0) {
          OK(pthread_cond_wait(&changed, &mutex));
        } else {
          const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
          OK(pthread_cond_timedwait(&changed, &mutex, &late));
        }
      }
      const std::unique_ptr<int> item = std::move(queue.back());
      queue.pop_back();
      OK(pthread_mutex_unlock(&mutex));
      ++*item;
      volatile char reused[4'096];  // the stack memory of the wait
      for (auto& byte : reused) byte = 1;
      OK(pthread_mutex_lock(&mutex));
      ++taken;
      OK(pthread_mutex_unlock(&mutex));
    }
  });
  if (taken != (threads - 1) * rounds) std::exit(1);
  OK(pthread_cond_destroy(&changed));
}

// Waits that end by their timeouts, and waits of C++.
void by_timeouts() {
  std::mutex mutex;
  std::condition_variable cond;
  int turn = 0;
  in_parallel([&](int which) {
    for (int i = 0; i < 5; ++i) {
      std::unique_lock held{mutex};
      cond.wait_for(held, std::chrono::milliseconds{1}, [] { return false; });
      cond.wait(held, [&] { return turn % threads == which; });
      ++turn;
      cond.notify_all();
    }
  });
}

void by_other_objects() {
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_rwlock_t initialised;
  OK(pthread_rwlock_init(&initialised, nullptr));
  pthread_spinlock_t spin;
  OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
  sem_t full;
  sem_t empty;
  sem_init(&full, 0, 0);
  sem_init(&empty, 0, 1);
  int writes = 0;
  int counter = 0;
  int item = 0;
  in_parallel([&](int which) {
    for (int i = 0; i < rounds; ++i) {
      for (pthread_rwlock_t* lock : {&rwlock, &initialised}) {
        if (i % 4 == 0) {
          OK(pthread_rwlock_wrlock(lock));
          if (lock == &rwlock) ++writes;
        } else {
          OK(pthread_rwlock_rdlock(lock));
          if (lock == &rwlock && writes < 0) std::exit(1);
        }
        OK(pthread_rwlock_unlock(lock));
      }
      OK(pthread_spin_lock(&spin));
      ++counter;
      OK(pthread_spin_unlock(&spin));
      if (which == 0) {
        sem_wait(&empty);
        item = i;
        sem_post(&full);
      } else if (which == 1) {
        sem_wait(&full);
        if (item != i) std::exit(1);
        sem_post(&empty);
      }
    }
  });
  if (counter != threads * rounds) std::exit(1);
  sem_destroy(&empty);
  sem_destroy(&full);
  OK(pthread_spin_destroy(&spin));
  OK(pthread_rwlock_destroy(&initialised));
  OK(pthread_rwlock_destroy(&rwlock));
}

// A unit that is posted before the other thread waits: only the semaphore orders the two.
void by_posted_unit() {
  static sem_t full;  // DRD refuses one where another object was on the stack
  sem_init(&full, 0, 0);
  auto item = std::make_unique<int>(0);
  std::thread taker{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    sem_wait(&full);
    if (*item != 1) std::exit(1);
  }};
  *item = 1;
  sem_post(&full);
  taker.join();
  sem_destroy(&full);
}

void race() {
  std::mutex mutex;
  int counter = 0;
  in_parallel([&](int which) {
    for (int i = 0; i < rounds; ++i) {
      if (which == 0) {
        ++counter;
        continue;
      }
      const std::lock_guard guard{mutex};
      ++counter;
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "race") == 0) {
    race();
  } else {
    for (const int type : check::all_types) by_mutex(type);
    in_reused_memory();
    by_condition_variable();
    by_timeouts();
    by_other_objects();
    by_posted_unit();
  }
  std::puts("done");
  return 0;
}
