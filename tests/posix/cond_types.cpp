// Condition variables with every mutex type: a wait releases the mutex and reacquires it by the
// rules of its type.
#include "../support/check.hpp"

namespace {

void with_type(int type) {
  check::Mutex mutex{type};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int round = 0; round < 50; ++round) {
    bool waiting = false;
    bool go = false;
    check::Worker waiter{[&](check::Worker&) {
      OK(pthread_mutex_lock(mutex));
      waiting = true;
      while (!go) OK(pthread_cond_wait(&cond, mutex));
      // held again, by the rules of its type
      if (type == PTHREAD_MUTEX_ERRORCHECK) CHECK_RC(EDEADLK, pthread_mutex_lock(mutex));
      if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(mutex));
        OK(pthread_mutex_unlock(mutex));
      }
      CHECK(!check::is_free(mutex));
      OK(pthread_mutex_unlock(mutex));
      if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
        CHECK_RC(EPERM, pthread_mutex_unlock(mutex));
    }};
    check::wait_until_under(mutex, [&] { return waiting; });
    OK(pthread_mutex_lock(mutex));
    go = true;
    OK(round % 2 == 0 ? pthread_cond_signal(&cond) : pthread_cond_broadcast(&cond));
    // the woken thread must not enter while the mutex is held
    check::sleep_us(200);
    CHECK(waiting);
    waiting = false;
    OK(pthread_mutex_unlock(mutex));
    waiter.join();
    CHECK(check::is_free(mutex));
  }
  OK(pthread_cond_destroy(&cond));
}

// A thread holding many other mutexes waits; they stay held.
CASE("other mutexes stay held") {
  constexpr std::size_t depth = 16;
  std::vector<pthread_mutex_t> held(depth, PTHREAD_MUTEX_INITIALIZER);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool waiting = false;
  bool go = false;
  check::Worker waiter{[&](check::Worker&) {
    for (std::size_t i = 0; i < depth / 2; ++i) OK(pthread_mutex_lock(&held[i]));
    OK(pthread_mutex_lock(&mutex));
    for (std::size_t i = depth / 2; i < depth; ++i) OK(pthread_mutex_lock(&held[i]));
    waiting = true;
    while (!go) OK(pthread_cond_wait(&cond, &mutex));
    for (auto& other : held) OK(pthread_mutex_unlock(&other));
    OK(pthread_mutex_unlock(&mutex));
  }};
  check::wait_until_under(&mutex, [&] { return waiting; });
  for (auto& other : held) CHECK_RC(EBUSY, pthread_mutex_trylock(&other));
  OK(pthread_mutex_lock(&mutex));
  go = true;
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  for (auto& other : held) CHECK(check::is_free(&other));
};

// One condition variable used with one mutex and later, when no thread waits, with another one.
CASE("several mutexes") {
  pthread_mutex_t mutexes[3];
  for (std::size_t i = 0; i < 3; ++i) check::init_mutex(&mutexes[i], check::all_types[i]);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int round = 0; round < 30; ++round) {
    pthread_mutex_t* mutex = &mutexes[round % 3];
    bool go = false;
    OK(pthread_mutex_lock(mutex));
    check::Worker signaller{[&](check::Worker&) {
      OK(pthread_mutex_lock(mutex));
      go = true;
      OK(pthread_cond_broadcast(&cond));
      OK(pthread_mutex_unlock(mutex));
    }};
    while (!go) OK(pthread_cond_wait(&cond, mutex));
    OK(pthread_mutex_unlock(mutex));
    signaller.join();
  }
};

// A thread that has locked a recursive mutex twice holds it while it waits. It must not wait for
// others that were signalled with it, because they cannot proceed before it does.
CASE("broadcast to a holder") {
  check::Mutex mutex{PTHREAD_MUTEX_RECURSIVE};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  std::atomic<int> woken{0};
  std::vector<std::unique_ptr<check::Worker>> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(std::make_unique<check::Worker>([&](check::Worker& self) {
      OK(pthread_mutex_lock(mutex));
      self.about_to_block();
      OK(pthread_cond_wait(&cond, mutex));
      ++woken;
      OK(pthread_mutex_unlock(mutex));
    }));
    others.back()->wait_until_blocked();
    check::wait_until([&] { return check::is_free(mutex); });
  }
  check::Worker holder{[&](check::Worker& self) {
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_lock(mutex));
    self.about_to_block();
    OK(pthread_cond_wait(&cond, mutex));
    CHECK_EQ(0, woken.load());
    OK(pthread_mutex_unlock(mutex));
    CHECK(!check::is_free(mutex));
    OK(pthread_mutex_unlock(mutex));
  }};
  holder.wait_until_blocked();
  check::sleep_ms(2);
  CHECK(!check::is_free(mutex));
  OK(pthread_cond_broadcast(&cond));
  holder.join();
  for (auto& other : others) other->join();
  CHECK_EQ(2, woken.load());
  OK(pthread_cond_destroy(&cond));
};

CASE("normal") { with_type(PTHREAD_MUTEX_NORMAL); };
CASE("recursive") { with_type(PTHREAD_MUTEX_RECURSIVE); };
CASE("errorcheck") { with_type(PTHREAD_MUTEX_ERRORCHECK); };
CASE("adaptive") { with_type(PTHREAD_MUTEX_ADAPTIVE_NP); };

}  // namespace
