// Condition variables with every mutex type: a wait releases the mutex and reacquires it by the
// rules of its type.
#include "../support/check.hpp"

namespace {

std::string with_type(int type) {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, type);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  for (int round = 0; round < 50; ++round) {
    bool waiting = false;
    bool go = false;
    check::Worker waiter{[&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      waiting = true;
      while (!go) OK(pthread_cond_wait(&cond, &mutex));
      // held again, by the rules of its type
      if (type == PTHREAD_MUTEX_ERRORCHECK) CHECK_RC(EDEADLK, pthread_mutex_lock(&mutex));
      if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
      }
      CHECK(!check::is_free(&mutex));
      OK(pthread_mutex_unlock(&mutex));
      if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
        CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
    }};
    check::wait_until_under(&mutex, [&] { return waiting; });
    OK(pthread_mutex_lock(&mutex));
    go = true;
    OK(round % 2 == 0 ? pthread_cond_signal(&cond) : pthread_cond_broadcast(&cond));
    // the woken thread must not enter while the mutex is held
    check::sleep_us(200);
    CHECK(waiting);
    waiting = false;
    OK(pthread_mutex_unlock(&mutex));
    waiter.join();
    CHECK(check::is_free(&mutex));
  }
  OK(pthread_cond_destroy(&cond));
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

// A thread holding many other mutexes waits; they stay held.
std::string other_mutexes_stay_held() {
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
  return "";
}

// One condition variable used with one mutex and later, when no thread waits, with another one.
std::string several_mutexes() {
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
  return "";
}

// A thread that has locked a recursive mutex twice holds it while it waits. It must not wait for
// others that were signalled with it, because they cannot proceed before it does.
std::string broadcast_to_a_holder() {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  std::atomic<int> woken{0};
  std::vector<std::unique_ptr<check::Worker>> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(std::make_unique<check::Worker>([&](check::Worker& self) {
      OK(pthread_mutex_lock(&mutex));
      self.about_to_block();
      OK(pthread_cond_wait(&cond, &mutex));
      ++woken;
      OK(pthread_mutex_unlock(&mutex));
    }));
    others.back()->wait_until_blocked();
    check::wait_until([&] { return check::is_free(&mutex); });
  }
  check::Worker holder{[&](check::Worker& self) {
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    OK(pthread_cond_wait(&cond, &mutex));
    CHECK_EQ(0, woken.load());
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!check::is_free(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  holder.wait_until_blocked();
  check::sleep_ms(2);
  CHECK(!check::is_free(&mutex));
  OK(pthread_cond_broadcast(&cond));
  holder.join();
  for (auto& other : others) other->join();
  CHECK_EQ(2, woken.load());
  OK(pthread_cond_destroy(&cond));
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<check::Case> cases;
  for (const int type : check::all_types)
    cases.push_back({check::type_name(type), [type] { return with_type(type); }});
  cases.push_back({"other mutexes stay held", other_mutexes_stay_held});
  cases.push_back({"several mutexes", several_mutexes});
  cases.push_back({"broadcast to a holder", broadcast_to_a_holder});
  return check::run(argc, argv, cases);
}
