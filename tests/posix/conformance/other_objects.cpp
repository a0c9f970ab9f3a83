// C11, semaphores, barriers and once.
#include <semaphore.h>
#include <threads.h>

#include "probes.hpp"

namespace conformance {
namespace {

void* wait_for_unit(void* sem) {
  int ignored = 0;
  OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored));
  sem_wait(static_cast<sem_t*>(sem));
  return nullptr;
}

}  // namespace

CASE("C11") {
  for (const int type :
       {int{mtx_plain}, int{mtx_timed}, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive, 77}) {
    group = "mtx " + std::to_string(type);
    mtx_t mutex;
    const int result = mtx_init(&mutex, type);
    report("init", std::to_string(result));
    if (result != thrd_success) continue;
    report("lock", std::to_string(mtx_lock(&mutex)));
    const int again = mtx_trylock(&mutex);
    report("trylock by the owner", std::to_string(again));
    if (again == thrd_success) report("and unlock", std::to_string(mtx_unlock(&mutex)));
    report("trylock by another", std::to_string(in_thread([&] { return mtx_trylock(&mutex); })));
    for (const timespec& when : {past, long_past, too_many})
      report("timedlock by another until " + std::to_string(when.tv_sec) + " " +
                 std::to_string(when.tv_nsec),
             std::to_string(in_thread([&] { return mtx_timedlock(&mutex, &when); })));
    cnd_t cond;
    report("cnd_init", std::to_string(cnd_init(&cond)));
    for (const timespec& when : {past, long_past, too_many, soon()})
      report("cnd_timedwait until " + std::string{when.tv_sec > 1 ? "soon" : "long ago"} + " " +
                 std::string{when.tv_nsec == 1'000'000'000 ? "invalid" : ""},
             std::to_string(cnd_timedwait(&cond, &mutex, &when)));
    report("cnd_signal", std::to_string(cnd_signal(&cond)));
    report("cnd_broadcast", std::to_string(cnd_broadcast(&cond)));
    cnd_destroy(&cond);
    if ((type & mtx_recursive) != 0)
      report("unlock by another", std::to_string(in_thread([&] { return mtx_unlock(&mutex); })));
    report("unlock", std::to_string(mtx_unlock(&mutex)));
    if ((type & mtx_recursive) != 0) report("unlock when free", std::to_string(mtx_unlock(&mutex)));
    mtx_destroy(&mutex);
  }
};

CASE("semaphores") {
  for (const int shared : {0, 1}) {
    group = shared != 0 ? "shared semaphore" : "semaphore";
    sem_t sem;
    probe_errno("init beyond the limit", sem_init(&sem, shared, SEM_VALUE_MAX + 1U));
    probe_errno("init", sem_init(&sem, shared, 1));
    probe_errno("wait", sem_wait(&sem));
    probe_errno("trywait", sem_trywait(&sem));
    const timespec when = soon();
    probe_errno("timedwait", sem_timedwait(&sem, &when));
    for (const timespec& each : {past, long_past, too_many, negative})
      probe_errno(
          "timedwait until " + std::to_string(each.tv_sec) + " " + std::to_string(each.tv_nsec),
          sem_timedwait(&sem, &each));
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME})
      probe_errno("clockwait with clock " + std::to_string(clock),
                  sem_clockwait(&sem, clock, &past));
    probe_errno("post", sem_post(&sem));
    int value = -1;
    probe_errno("getvalue", sem_getvalue(&sem, &value));
    report("value", std::to_string(value));
    probe_errno("timedwait with an invalid time, and a unit", sem_timedwait(&sem, &too_many));
    probe_errno("destroy", sem_destroy(&sem));
    CHECK(sem_init(&sem, shared, SEM_VALUE_MAX) == 0);
    probe_errno("post beyond the limit", sem_post(&sem));
    CHECK(sem_destroy(&sem) == 0);
    CHECK(sem_init(&sem, shared, 0) == 0);
    pthread_t thread;
    OK(pthread_create(&thread, nullptr, wait_for_unit, &sem));
    check::sleep_us(500);
    OK(pthread_cancel(thread));
    void* result = nullptr;
    OK(pthread_join(thread, &result));
    probe_is("wait cancelled", result == PTHREAD_CANCELED);
    CHECK(sem_getvalue(&sem, &value) == 0);
    report("value after that", std::to_string(value));
    // A wait is cancelled even if a unit is available.
    CHECK(sem_post(&sem) == 0);
    static std::atomic<bool> go;
    go = false;
    struct Late {
      sem_t* sem;
      int passed = 0;
    } late{&sem};
    OK(pthread_create(
        &thread, nullptr,
        [](void* argument) -> void* {
          int ignored = 0;
          OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
          check::wait_until([] { return go.load(); });
          OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
          sem_wait(static_cast<Late*>(argument)->sem);
          static_cast<Late*>(argument)->passed = 1;
          return nullptr;
        },
        &late));
    OK(pthread_cancel(thread));
    go = true;
    OK(pthread_join(thread, &result));
    report("wait with a cancellation pending and a unit: passed", std::to_string(late.passed));
    CHECK(sem_destroy(&sem) == 0);
  }
};

CASE("barriers and once") {
  group = "barrier";
  pthread_barrier_t barrier;
  probe("init for no thread", pthread_barrier_init(&barrier, nullptr, 0));
  probe("init", pthread_barrier_init(&barrier, nullptr, 3));
  std::atomic<int> serial{0};
  check::in_parallel(3, [&](int) {
    for (int i = 0; i < 20; ++i) {
      const int role = pthread_barrier_wait(&barrier);
      serial += role == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
    }
  });
  report("serial threads", std::to_string(serial.load()));
  probe("destroy", pthread_barrier_destroy(&barrier));
  group = "once";
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static std::atomic<int> times;
  check::in_parallel(4, [&](int) { OK(pthread_once(&once, [] { ++times; })); });
  report("times", std::to_string(times.load()));
};

}  // namespace conformance
