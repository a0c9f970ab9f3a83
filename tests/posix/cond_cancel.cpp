// Cancellation of a thread that waits on a condition variable: its clean-up runs with the mutex
// held, C++ destructors run too, and a signal sent at the same time is not lost.
#include "../support/check.hpp"

namespace {

enum class Kind { wait, timedwait, clockwait };
constexpr Kind kinds[] = {Kind::wait, Kind::timedwait, Kind::clockwait};

int wait_by(Kind kind, pthread_cond_t* cond, pthread_mutex_t* mutex) {
  const timespec late = check::after_ms(CLOCK_REALTIME, 600'000);
  switch (kind) {
    case Kind::timedwait:
      return pthread_cond_timedwait(cond, mutex, &late);
    case Kind::clockwait:
      return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &late);
    default:
      return pthread_cond_wait(cond, mutex);
  }
}

// A thread with a plain entry point: cancellation must not pass through std::function.
struct Waiter {
  Kind kind = Kind::wait;
  int type = PTHREAD_MUTEX_NORMAL;
  pthread_mutex_t mutex;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  bool go = false;
  int cleaned = 0;
  bool destructor_ran = false;
  pthread_t thread{};

  void start(void* (*body)(void*)) {
    check::init_mutex(&mutex, type);
    OK(pthread_create(&thread, nullptr, body, this));
  }

  void lock_when_waiting(int wanted) {
    for (;;) {
      OK(pthread_mutex_lock(&mutex));
      if (waiting == wanted) return;
      OK(pthread_mutex_unlock(&mutex));
      check::sleep_us(100);
    }
  }

  void expect_canceled() {
    void* result = nullptr;
    OK(pthread_join(thread, &result));
    CHECK(result == PTHREAD_CANCELED);
  }
};

// Releases as the type does: for an errorcheck mutex success proves that this thread holds it.
void clean_up(void* argument) {
  auto* self = static_cast<Waiter*>(argument);
  ++self->cleaned;
  if (self->type != PTHREAD_MUTEX_RECURSIVE) CHECK_RC(EBUSY, pthread_mutex_trylock(&self->mutex));
  CHECK(!check::is_free(&self->mutex));
  OK(pthread_mutex_unlock(&self->mutex));
}

void* wait_for_ever(void* argument) {
  auto* self = static_cast<Waiter*>(argument);
  OK(pthread_mutex_lock(&self->mutex));
  pthread_cleanup_push(clean_up, argument);
  ++self->waiting;
  while (!self->go) OK(wait_by(self->kind, &self->cond, &self->mutex));
  pthread_cleanup_pop(0);
  OK(pthread_mutex_unlock(&self->mutex));
  return nullptr;
}

template <class Body>
void with_each_kind(Body body) {
  for (const Kind kind : kinds)
    for (const int type : check::all_types)
      for (int round = 0; round < 4; ++round) {
        Waiter waiter;
        waiter.kind = kind;
        waiter.type = type;
        body(waiter);
        CHECK(check::is_free(&waiter.mutex));
        OK(pthread_cond_destroy(&waiter.cond));
        OK(pthread_mutex_destroy(&waiter.mutex));
      }
}

CASE("clean-up holds the mutex") {
  with_each_kind([](Waiter& waiter) {
    waiter.start(wait_for_ever);
    waiter.lock_when_waiting(1);
    OK(pthread_mutex_unlock(&waiter.mutex));
    OK(pthread_cancel(waiter.thread));
    waiter.expect_canceled();
    CHECK_EQ(1, waiter.cleaned);
  });
};

// The mutex is held when the cancellation arrives: the clean-up has to wait for it.
CASE("clean-up waits for the mutex") {
  with_each_kind([](Waiter& waiter) {
    waiter.start(wait_for_ever);
    waiter.lock_when_waiting(1);
    OK(pthread_cancel(waiter.thread));
    check::sleep_ms(1);
    CHECK_EQ(0, waiter.cleaned);
    OK(pthread_mutex_unlock(&waiter.mutex));
    waiter.expect_canceled();
    CHECK_EQ(1, waiter.cleaned);
  });
};

// A cancellation that is pending when the wait begins.
CASE("pending cancellation") {
  with_each_kind([](Waiter& waiter) {
    waiter.start([](void* argument) -> void* {
      OK(pthread_cancel(pthread_self()));
      return wait_for_ever(argument);
    });
    waiter.expect_canceled();
    CHECK_EQ(1, waiter.cleaned);
  });
};

struct Guard {
  explicit Guard(Waiter& w) : waiter{w} { OK(pthread_mutex_lock(&waiter.mutex)); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    waiter.destructor_ran = true;
    CHECK(!check::is_free(&waiter.mutex));
    OK(pthread_mutex_unlock(&waiter.mutex));
  }
  Waiter& waiter;
};

// Cancellation unwinds C++ frames: through the library's frames too.
CASE("destructors run") {
  with_each_kind([](Waiter& waiter) {
    waiter.start([](void* argument) -> void* {
      auto* self = static_cast<Waiter*>(argument);
      const Guard guard{*self};
      ++self->waiting;
      try {
        while (!self->go) OK(wait_by(self->kind, &self->cond, &self->mutex));
      } catch (...) {
        ++self->cleaned;
        throw;  // cancellation must not be stopped
      }
      return nullptr;
    });
    waiter.lock_when_waiting(1);
    OK(pthread_mutex_unlock(&waiter.mutex));
    OK(pthread_cancel(waiter.thread));
    waiter.expect_canceled();
    CHECK(waiter.destructor_ran);
    CHECK_EQ(1, waiter.cleaned);
  });
};

struct Race {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  int tokens = 0;
  int taken_by_cancelled = 0;
  int taken_by_other = 0;
};

void unlock(void* mutex) { OK(pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex))); }

void* take_a_token(void* argument, int Race::* taken) {
  auto* race = static_cast<Race*>(argument);
  OK(pthread_mutex_lock(&race->mutex));
  pthread_cleanup_push(unlock, &race->mutex);
  ++race->waiting;
  while (race->tokens == 0) OK(pthread_cond_wait(&race->cond, &race->mutex));
  --race->tokens;
  ++(race->*taken);
  pthread_cleanup_pop(1);
  return nullptr;
}

// Two threads wait; one signal and the cancellation of the first come together. If the
// cancelled thread has not taken the token, the signal must wake the other.
CASE("no signal is lost") {
  int by_cancelled = 0;
  int by_other = 0;
  check::Random random{31};
  const check::Budget budget{10'000};
  for (int round = 0; round < 300 && !budget.spent(); ++round) {
    Race race;
    pthread_t first;
    pthread_t second;
    OK(pthread_create(
        &first, nullptr, [](void* r) { return take_a_token(r, &Race::taken_by_cancelled); },
        &race));
    // in FIFO order the first to wait is the first to be signalled
    check::wait_until_under(&race.mutex, [&] { return race.waiting == 1; });
    OK(pthread_create(
        &second, nullptr, [](void* r) { return take_a_token(r, &Race::taken_by_other); }, &race));
    check::wait_until_under(&race.mutex, [&] { return race.waiting == 2; });
    if (round % 3 == 0) check::sleep_us(100);  // both sleep by now
    OK(pthread_mutex_lock(&race.mutex));
    race.tokens = 1;
    const bool signal_first = random.below(2) == 0;
    const bool inside = random.below(2) == 0;
    if (!inside) OK(pthread_mutex_unlock(&race.mutex));
    if (signal_first) OK(pthread_cond_signal(&race.cond));
    if (random.below(2) == 0)
      for (std::uint32_t spin = random.below(round % 2 == 0 ? 2'000 : 60'000); spin > 0; --spin)
        asm volatile("");
    OK(pthread_cancel(first));
    if (!signal_first) OK(pthread_cond_signal(&race.cond));
    if (inside) OK(pthread_mutex_unlock(&race.mutex));
    OK(pthread_join(first, nullptr));
    if (race.taken_by_cancelled == 0) {
      OK(pthread_join(second, nullptr));  // hangs if the signal was lost
      CHECK_EQ(1, race.taken_by_other);
      ++by_other;
    } else {
      OK(pthread_mutex_lock(&race.mutex));
      CHECK_EQ(0, race.taken_by_other);
      race.tokens = 1;
      OK(pthread_cond_signal(&race.cond));
      OK(pthread_mutex_unlock(&race.mutex));
      OK(pthread_join(second, nullptr));
      ++by_cancelled;
    }
    OK(pthread_cond_destroy(&race.cond));
  }
  return "taken by the cancelled " + std::to_string(by_cancelled) + " by the other " +
         std::to_string(by_other);
};

}  // namespace
