// Cancellation points, and the state after a cancelled wait.
#include "kinds.hpp"
#include "probes.hpp"

namespace conformance {
namespace {

struct Cancelled {
  Kind kind{};
  pthread_mutex_t mutex{};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int how = 0;
  bool asynchronous = false;
  bool pending = false;
  int type_before = -1;
  int unlock = -1;
  bool held = false;
  std::atomic<bool> ready{false};
  std::atomic<bool> go{false};
};

void clean_up(void* argument) {
  auto& run = *static_cast<Cancelled*>(argument);
  run.held = !check::is_free(&run.mutex);
  run.unlock = pthread_mutex_unlock(&run.mutex);
}

void* be_cancelled(void* argument) {
  auto& run = *static_cast<Cancelled*>(argument);
  int ignored = 0;
  OK(pthread_setcanceltype(run.asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED,
                           &ignored));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
  OK(pthread_mutex_lock(&run.mutex));
  pthread_cleanup_push(clean_up, &run);
  run.ready = true;
  if (run.pending) check::wait_until([&] { return run.go.load(); });
  OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &ignored));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
  if (run.asynchronous) OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &ignored));
  const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
  const timespec late_monotonic = check::after_ms(CLOCK_MONOTONIC, 60'000);
  for (;;) {
    if (run.how == 0) pthread_cond_wait(&run.cond, &run.mutex);
    if (run.how == 1) pthread_cond_timedwait(&run.cond, &run.mutex, &late);
    if (run.how == 2)
      pthread_cond_clockwait(&run.cond, &run.mutex, CLOCK_MONOTONIC, &late_monotonic);
    if (run.how == 3) pthread_cond_timedwait(&run.cond, &run.mutex, &past);
  }
  pthread_cleanup_pop(0);
  return nullptr;
}

}  // namespace

CASE("cancellation") {
  for (const Kind& kind :
       {Kind{PTHREAD_MUTEX_NORMAL}, Kind{PTHREAD_MUTEX_RECURSIVE}, Kind{PTHREAD_MUTEX_ERRORCHECK},
        Kind{.robust = PTHREAD_MUTEX_ROBUST}, Kind{.protocol = PTHREAD_PRIO_INHERIT}})
    for (const bool asynchronous : {false, true})
      for (const bool pending : {false, true})
        for (const int how : {0, 1, 2, 3}) {
          // A pending asynchronous cancellation acts before the wait.
          if (asynchronous && (pending || how == 3)) continue;
          group = "cancelled wait " + std::to_string(how) + " with mutex " + kind.name() +
                  (asynchronous ? " asynchronous" : "") + (pending ? " pending" : "");
          Cancelled run;
          run.how = how;
          run.asynchronous = asynchronous;
          run.pending = pending;
          OK(kind.init(&run.mutex));
          pthread_t thread;
          OK(pthread_create(&thread, nullptr, be_cancelled, &run));
          check::wait_until([&] { return run.ready.load(); });
          if (!pending) check::wait_until([&] { return check::is_free(&run.mutex); });
          OK(pthread_cancel(thread));
          run.go = true;
          void* result = nullptr;
          OK(pthread_join(thread, &result));
          probe_is("cancelled", result == PTHREAD_CANCELED);
          probe_is("held in the clean-up", run.held);
          probe("unlock in the clean-up", run.unlock);
          probe_is("free after that", check::is_free(&run.mutex));
          probe("destroy of the cond", pthread_cond_destroy(&run.cond));
          probe("destroy of the mutex", pthread_mutex_destroy(&run.mutex));
        }
};

// Calls that are no cancellation points, with a cancellation pending.
CASE("no cancellation points") {
  group = "with a cancellation pending";
  static std::atomic<int> passed;
  passed = 0;
  pthread_t thread;
  static std::atomic<bool> go;
  go = false;
  OK(pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        int ignored = 0;
        OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
        check::wait_until([] { return go.load(); });
        OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored));
        pthread_mutex_t mutex;
        OK(pthread_mutex_init(&mutex, nullptr));
        pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
        OK(pthread_mutex_lock(&mutex));
        CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
        pthread_mutex_timedlock(&mutex, &past);
        const timespec when = soon();
        pthread_mutex_timedlock(&mutex, &when);
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_cond_signal(&cond));
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_cond_destroy(&cond));
        OK(pthread_mutex_destroy(&mutex));
        passed = 1;
        pthread_testcancel();
        passed = 2;
        return nullptr;
      },
      nullptr));
  OK(pthread_cancel(thread));
  go = true;
  void* result = nullptr;
  OK(pthread_join(thread, &result));
  report("calls passed", std::to_string(passed.load()));
  probe_is("cancelled afterwards", result == PTHREAD_CANCELED);
};

CASE("state after a wait") {
  for (const int wanted : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    group = wanted == PTHREAD_CANCEL_DEFERRED ? "after a wait, deferred" : "after a wait, at once";
    in_thread([&] {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
      int ignored = 0;
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_setcanceltype(wanted, &ignored));
      const timespec when = soon();
      pthread_cond_timedwait(&cond, &mutex, &when);
      int type = -1;
      int state = -1;
      OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
      OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
      probe_is("type as before", type == wanted);
      probe_is("enabled", state == PTHREAD_CANCEL_ENABLE);
      OK(pthread_mutex_unlock(&mutex));
      return 0;
    });
  }
};

// A disabled cancellation has no effect on the wait.
CASE("cancellation disabled") {
  group = "cancelled while disabled";
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  int result = -1;
  check::Worker waiter{[&](check::Worker& self) {
    int ignored = 0;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored));
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    do {
      result = pthread_cond_wait(&cond, &mutex);
    } while (result == 0 && !go);
    OK(pthread_mutex_unlock(&mutex));
  }};
  waiter.wait_until_blocked();
  OK(pthread_cancel(waiter.handle()));
  OK(pthread_mutex_lock(&mutex));
  go = true;
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  probe("wait", result);
};

}  // namespace conformance
