// Which waiting thread is woken: prints the order, and checks nothing.
//
//   WHAT order N     N threads begin to wait one after the other, and are woken one by one: their
//                    numbers in the order in which they went on
//   WHAT turns N M   each of N threads waits again as soon as it has been woken, until M have been
//                    woken, one at a time: how often each went on
//
// WHAT is a condition variable (`cond`) or a semaphore (`sem`).
#include "../support/check.hpp"

#include <semaphore.h>

namespace {

// A place to wait at, and a way to wake one waiter.
struct Place {
  bool is_cond;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  sem_t sem{};
  // No predicate: there are no spurious wake-ups, and this is a test of which waiter is woken.
  void wait() {
    if (is_cond) {
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_cond_wait(&cond, &mutex));
      OK(pthread_mutex_unlock(&mutex));
    } else {
      OK(sem_wait(&sem));
    }
  }
  void wake() {
    if (is_cond) {
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_cond_signal(&cond));
      OK(pthread_mutex_unlock(&mutex));
    } else {
      OK(sem_post(&sem));
    }
  }
};

// Each thread waits `times` times, or until `over`.
struct Waiters {
  Place& place;
  std::atomic<bool> over{false};
  std::atomic<int> gone_on{0};
  std::vector<int> order;  // written by the one that was woken, while no other runs
  std::vector<std::unique_ptr<std::atomic<bool>>> begins;
  std::vector<std::unique_ptr<check::Worker>> workers;

  explicit Waiters(Place& at) : place{at} {}

  void add(bool again) {
    const int number = static_cast<int>(workers.size());
    begins.push_back(std::make_unique<std::atomic<bool>>(false));
    std::atomic<bool>& begin = *begins.back();
    workers.push_back(std::make_unique<check::Worker>([this, number, again, &begin](auto& self) {
      do {
        self.about_to_block();
        begin.store(true);
        place.wait();
        if (over.load()) return;
        begin.store(false);
        order.push_back(number);
        gone_on.fetch_add(1);
      } while (again);
    }));
    wait_until_it_waits(workers.size() - 1);
  }

  void wait_until_it_waits(std::size_t number) {
    check::wait_until([&] { return begins[number]->load(); });
    workers[number]->wait_until_blocked();
  }

  void wake_one() {
    const int before = gone_on.load();
    place.wake();
    check::wait_until([&] { return gone_on.load() != before; });
  }
};

void order(Place& place, int count) {
  Waiters all(place);
  for (int i = 0; i < count; ++i) all.add(false);
  for (int i = 0; i < count; ++i) all.wake_one();
  for (const int number : all.order) std::printf("%d ", number);
  std::printf("\n");
}

void turns(Place& place, int count, int wakes) {
  Waiters all(place);
  for (int i = 0; i < count; ++i) all.add(true);
  for (int i = 0; i < wakes; ++i) {
    all.wake_one();
    all.wait_until_it_waits(static_cast<std::size_t>(all.order.back()));
  }
  std::vector<int> often(static_cast<std::size_t>(count));
  for (const int number : all.order) ++often[static_cast<std::size_t>(number)];
  for (const int times : often) std::printf("%d ", times);
  std::printf("\n");
  all.over = true;
  for (int i = 0; i < count; ++i) place.wake();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  static Place place{std::string(argv[1]) == "cond"};
  OK(sem_init(&place.sem, 0, 0));
  const int count = std::atoi(argv[3]);
  if (std::string(argv[2]) == "order") {
    order(place, count);
  } else {
    turns(place, count, argc > 4 ? std::atoi(argv[4]) : 0);
  }
  return 0;
}
