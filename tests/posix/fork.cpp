// fork in a program with threads: the child has one thread, and mutexes that its parent's other
// threads queued for. The child can release and use all that the forking thread held.
#include "../support/children.hpp"

namespace {

// Called in a process that has not locked anything yet.
void fork_during_the_first_lock(int microseconds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> begins{false};
  check::Worker first{[&](check::Worker&) {
    begins.store(true);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  while (!begins.load()) {
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
  check::in_child([&] {
    OK(pthread_mutex_lock(&other));
    OK(pthread_mutex_unlock(&other));
  });
  first.join();
}

// fork while another thread takes the first lock of the process: an initialisation that it has begun
// is not completed in the child. The first case, for no thread has locked yet.
CASE("during the first lock") {
  for (int i = 0; i < 30; ++i) {
    check::in_child([&] { fork_during_the_first_lock(3 * i); });
  }
};

void use(pthread_mutex_t* mutex) {
  for (int i = 0; i < 100; ++i) {
    OK(i % 3 == 0 ? pthread_mutex_trylock(mutex) : pthread_mutex_lock(mutex));
    CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
    OK(pthread_mutex_unlock(mutex));
  }
  check::count_under(mutex, 2, 200);
}

CASE("free mutex") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  use(&mutex);
  check::in_child([&] { use(&mutex); });
  use(&mutex);
};

CASE("held mutex") {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    check::Mutex mutex{type};
    OK(pthread_mutex_lock(mutex));
    check::in_child([&] {
      CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
      OK(pthread_mutex_unlock(mutex));
      use(mutex);
    });
    OK(pthread_mutex_unlock(mutex));
    use(mutex);
  }
};

// Two threads wait at the fork; they do not exist in the child.
CASE("held with waiters") {
  for (int round = 0; round < 5; ++round) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&mutex));
    check::Waiter first{&mutex};
    check::Waiter second{&mutex};
    check::in_child([&] {
      OK(pthread_mutex_unlock(&mutex));  // without a waiter here
      use(&mutex);
    });
    OK(pthread_mutex_unlock(&mutex));
    first.join();
    second.join();
    use(&mutex);
  }
};

// Threads of the child queue for a mutex that the child holds since before the fork.
CASE("held with waiters on both sides") {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    check::Mutex mutex{type};
    auto with_waiters = [&](auto body) {
      check::Waiter first{mutex};
      check::Waiter second{mutex};
      body();
      OK(pthread_mutex_unlock(mutex));
      first.join();
      second.join();
      use(mutex);
    };
    OK(pthread_mutex_lock(mutex));
    with_waiters([&] {
      check::in_child(
          [&] { with_waiters([&] { check::in_child([&] { with_waiters([] {}); }); }); });
    });
  }
};

// The C library records the owner of such a mutex by a thread number that changes in the child.
CASE("recursive with waiters") {
  if (std::getenv("LOCKWRIGHT_TEST_OWNER_SURVIVES_FORK") == nullptr) return;
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  OK(pthread_mutex_lock(&mutex));
  OK(pthread_mutex_lock(&mutex));
  check::Waiter waiting{&mutex};
  check::in_child([&] {
    OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < 3; ++i) OK(pthread_mutex_unlock(&mutex));
    CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
  });
  for (int i = 0; i < 2; ++i) OK(pthread_mutex_unlock(&mutex));
  waiting.join();
};

// A wait in the child releases the mutex that was held at the fork.
CASE("wait with a mutex held across") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  OK(pthread_mutex_lock(&mutex));
  check::Waiter left_behind{&mutex};
  check::in_child([&] {
    check::Worker signaller{[&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      go = true;
      OK(pthread_cond_signal(&cond));
      OK(pthread_mutex_unlock(&mutex));
    }};
    while (!go) OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    signaller.join();
    use(&mutex);
  });
  OK(pthread_mutex_unlock(&mutex));
  left_behind.join();
};

pthread_mutex_t guarded[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                              PTHREAD_MUTEX_INITIALIZER};
std::atomic<bool> handlers_active{false};

void lock_all() {
  if (handlers_active)
    for (auto& mutex : guarded) OK(pthread_mutex_lock(&mutex));
}
void unlock_all() {
  if (handlers_active)
    for (auto& mutex : guarded) OK(pthread_mutex_unlock(&mutex));
}

// Handlers as in libraries: acquire every mutex before the fork, release all in both processes.
CASE("fork handlers under load") {
  OK(pthread_atfork(lock_all, unlock_all, unlock_all));
  handlers_active = true;
  std::atomic<bool> stop{false};
  auto work = [&](check::Worker&) {
    while (!stop) {
      for (auto& mutex : guarded) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
      }
      sched_yield();
    }
  };
  {
    check::Worker first{work};
    check::Worker second{work};
    const check::Budget budget{150};
    int forks = 0;
    do {
      check::in_child([&] {
        handlers_active = false;
        for (auto& mutex : guarded) use(&mutex);
      });
      ++forks;
    } while (forks < 20 && !budget.spent());
    stop = true;
  }
  handlers_active = false;
};

// A recursive or errorcheck mutex records its owner by a number that a fork changes.
CASE("owner after fork") {
  check::Mutex mutex{PTHREAD_MUTEX_RECURSIVE};
  check::in_child([&] {
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_lock(mutex));
    check::Worker([&](check::Worker&) {
      CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
      CHECK_RC(EPERM, pthread_mutex_unlock(mutex));
    }).join();
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_unlock(mutex));
  });
};

// Waits and signals among the child's own threads.
CASE("condition variable in the child") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  check::in_child([&] { check::take_turns(&mutex, &cond, 300); });
};

// The parent's threads sleep on the condition variable at the fork. The child's own threads
// may reuse the memory of their stacks; waking threads that do not exist must not touch it.
CASE("condition variable with waiters left behind") {
  constexpr int threads = 4;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  bool go = false;
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      ++waiting;
      while (!go) OK(pthread_cond_wait(&cond, &mutex));
      OK(pthread_mutex_unlock(&mutex));
    }));
  }
  check::wait_until_under(&mutex, [&] { return waiting == threads; });
  OK(pthread_mutex_lock(&mutex));  // so that no thread is half way into its wait
  check::in_child([&] {
    OK(pthread_mutex_unlock(&mutex));
    std::atomic<int> filled{0};
    std::atomic<bool> woken{false};
    check::in_parallel(threads + 1, [&](int i) {
      if (i == threads) {
        check::wait_until([&] { return filled.load() == threads; });
        // Once: after that the C library's functions would wait for threads that do not exist.
        OK(pthread_cond_broadcast(&cond));
        woken = true;
        return;
      }
      // A deep frame on the memory of the parent thread's frame: zeros, as in a new waiter's node.
      volatile unsigned char frame[16'384];
      for (auto& byte : frame) byte = 0;
      ++filled;
      check::wait_until([&] { return woken.load(); });
      for (const auto& byte : frame) CHECK_EQ(0, byte);
    });
  });
  go = true;
  OK(pthread_cond_broadcast(&cond));
  OK(pthread_mutex_unlock(&mutex));
  for (auto& worker : workers) worker->join();
};

}  // namespace
