// The mutexes and condition variables of C11's <threads.h>, with each result that the standard
// names.
#include <threads.h>

#include "../support/check.hpp"

namespace {

constexpr int all_types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                             mtx_timed | mtx_recursive};

bool is_free(mtx_t* mutex) {
  int found = thrd_error;
  check::Worker([&](check::Worker&) {
    found = mtx_trylock(mutex);
    if (found == thrd_success) CHECK_EQ(thrd_success, mtx_unlock(mutex));
  }).join();
  CHECK(found == thrd_success || found == thrd_busy);
  return found == thrd_success;
}

std::string every_type() {
  for (const int type : all_types) {
    mtx_t mutex;
    CHECK_EQ(thrd_success, mtx_init(&mutex, type));
    CHECK(is_free(&mutex));
    CHECK_EQ(thrd_success, mtx_lock(&mutex));
    CHECK(!is_free(&mutex));
    if ((type & mtx_recursive) != 0) {
      CHECK_EQ(thrd_success, mtx_lock(&mutex));
      CHECK_EQ(thrd_success, mtx_trylock(&mutex));
      CHECK_EQ(thrd_success, mtx_unlock(&mutex));
      CHECK_EQ(thrd_success, mtx_unlock(&mutex));
      CHECK(!is_free(&mutex));
    } else {
      CHECK_EQ(thrd_busy, mtx_trylock(&mutex));
    }
    CHECK_EQ(thrd_success, mtx_unlock(&mutex));
    CHECK(is_free(&mutex));
    mtx_destroy(&mutex);
  }
  return "";
}

std::string timed_lock() {
  for (const int type : all_types) {
    mtx_t mutex;
    CHECK_EQ(thrd_success, mtx_init(&mutex, type));
    const timespec past{1, 0};
    CHECK_EQ(thrd_success, mtx_timedlock(&mutex, &past));
    check::Worker([&](check::Worker&) {
      CHECK_EQ(thrd_timedout, mtx_timedlock(&mutex, &past));
      const timespec soon = check::after_ms(CLOCK_REALTIME, 4);
      CHECK_EQ(thrd_timedout, mtx_timedlock(&mutex, &soon));
      CHECK(check::nanoseconds(CLOCK_REALTIME) >=
            soon.tv_sec * std::int64_t{1'000'000'000} + soon.tv_nsec);
    }).join();
    CHECK_EQ(thrd_success, mtx_unlock(&mutex));
    mtx_destroy(&mutex);
  }
  return "";
}

std::string exclusion() {
  constexpr int threads = 2;
  constexpr int rounds = 2000;
  // Where waiters poll in a queue, each round may take a time slice.
  constexpr int budget_ms = 200;
  for (const int type : {int{mtx_plain}, mtx_plain | mtx_recursive}) {
    mtx_t mutex;
    CHECK_EQ(thrd_success, mtx_init(&mutex, type));
    int counter = 0;
    int shadow = 0;
    std::atomic<int> entered{0};
    const check::Budget budget{budget_ms};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        int n = 0;
        do {
          CHECK_EQ(thrd_success, mtx_lock(&mutex));
          ++counter;
          if (n % 64 == 0) sched_yield();
          ++shadow;
          CHECK_EQ(counter, shadow);
          CHECK_EQ(thrd_success, mtx_unlock(&mutex));
        } while (++n < rounds && !budget.spent());
        entered += n;
      });
    for (std::thread& each : all) each.join();
    CHECK_EQ(entered.load(), counter);
    mtx_destroy(&mutex);
  }
  return "";
}

// A wait releases the mutex and acquires it again.
std::string waits() {
  constexpr int waiters = 4;
  for (const int type : all_types) {
    mtx_t mutex;
    cnd_t cond;
    CHECK_EQ(thrd_success, mtx_init(&mutex, type));
    CHECK_EQ(thrd_success, cnd_init(&cond));
    int arrived = 0;
    bool go = false;
    std::vector<std::thread> all;
    for (int i = 0; i < waiters; ++i)
      all.emplace_back([&] {
        CHECK_EQ(thrd_success, mtx_lock(&mutex));
        ++arrived;
        while (!go) CHECK_EQ(thrd_success, cnd_wait(&cond, &mutex));
        --arrived;
        CHECK_EQ(thrd_success, cnd_signal(&cond));
        CHECK_EQ(thrd_success, mtx_unlock(&mutex));
      });
    CHECK_EQ(thrd_success, mtx_lock(&mutex));
    while (arrived < waiters) {
      const timespec soon = check::after_ms(CLOCK_REALTIME, 1);
      CHECK_EQ(thrd_timedout, cnd_timedwait(&cond, &mutex, &soon));
    }
    go = true;
    CHECK_EQ(thrd_success, cnd_broadcast(&cond));
    while (arrived > 0) CHECK_EQ(thrd_success, cnd_wait(&cond, &mutex));
    CHECK_EQ(thrd_success, mtx_unlock(&mutex));
    for (std::thread& each : all) each.join();
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"every type", every_type},
                     {"timed lock", timed_lock},
                     {"exclusion", exclusion},
                     {"waits", waits}});
}
