// Two threads that wake each other in turn through an object other than a lock, and the beginning and
// end of a thread, for `bench profile-cost`.
#include <pthread.h>
#include <semaphore.h>

#include <atomic>

#include "catalogue.hpp"
#include "lockless.hpp"

namespace bench {
namespace {

enum kind : std::uint32_t { of_semaphores, of_barrier, of_futexes, of_threads };
constexpr const char* words = "semaphore,barrier,futex,thread";

// What two threads take turns with: wake() ends await() of the thread on that side.
class semaphores {
 public:
  semaphores() {
    for (sem_t& each : turns_) {
      must(sem_init(&each, 0, 0), "sem_init");
    }
  }
  void wake(unsigned side) { must(sem_post(&turns_[side]), "sem_post"); }
  void await(unsigned side) { must(sem_wait(&turns_[side]), "sem_wait"); }

 private:
  sem_t turns_[2];
};

// Both calls pass the barrier, so a round trip passes it twice.
class barrier_of_two {
 public:
  barrier_of_two() { must(pthread_barrier_init(&barrier_, nullptr, 2), "pthread_barrier_init"); }
  void wake(unsigned /*side*/) { pass(); }
  void await(unsigned /*side*/) { pass(); }

 private:
  void pass() {
    const int result = pthread_barrier_wait(&barrier_);
    must(result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result, "pthread_barrier_wait");
  }
  pthread_barrier_t barrier_;
};

class futexes {
 public:
  void wake(unsigned side) {
    turns_[side].store(1);
    futex_wake(turns_[side], 1);
  }
  void await(unsigned side) {
    while (turns_[side].exchange(0) == 0) {
      futex_wait(turns_[side], 0);
    }
  }

 private:
  std::atomic<std::uint32_t> turns_[2]{};
};

// Repeats `trip`, and prints how long one takes.
template <class Trip>
int repeat(const description& about, const settings& given, Trip trip) {
  const lockless_run run(given);
  std::uint64_t trips = 0;
  for (const double length = given.real("seconds"); run.seconds() < length; ++trips) {
    trip();
  }
  return run.end(about.name, trips, [trips](result& line, double seconds) {
    line.field("trip_ns", seconds * 1e9 / static_cast<double>(trips));
  });
}

template <class Object>
int take_turns(const description& about, const settings& given) {
  Object shared;
  std::atomic<bool> over{false};
  other_thread partner(-1, [&] {
    given.pin(1);
    for (shared.await(1); !over.load(); shared.await(1)) {
      shared.wake(0);
    }
  });
  partner.start();
  const int status = repeat(about, given, [&shared] {
    shared.wake(1);
    shared.await(0);
  });
  over.store(true);
  shared.wake(1);
  partner.join();
  return status;
}

void* end_at_once(void* passed) { return passed; }

int run_object_wait(const description& about, const settings& given) {
  given.pin(0);
  switch (static_cast<kind>(given.count("object"))) {
    case of_semaphores:
      return take_turns<semaphores>(about, given);
    case of_barrier:
      return take_turns<barrier_of_two>(about, given);
    case of_futexes:
      return take_turns<futexes>(about, given);
    case of_threads:
      break;
  }
  return repeat(about, given, [] {
    pthread_t thread{};
    must(pthread_create(&thread, nullptr, end_at_once, nullptr), "pthread_create");
    must(pthread_join(thread, nullptr), "pthread_join");
  });
}

}  // namespace

const description object_wait{
    .name = "object-wait",
    .measures = "two threads that wake each other in turn, or a thread that begins and ends",
    .operation = "round trips, or threads",
    .parameters = {{"object", of_semaphores, "", "what they wait for", 0, words}},
    .figures = {{"trip_ns", "trip ns", "a round trip, or a thread; mean", true}},
    .uses_lock = false,
    .is_listed = false,
    .run = run_object_wait,
};

}  // namespace bench
