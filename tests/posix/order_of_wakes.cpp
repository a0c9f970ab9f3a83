// Prints the order in which waiting threads are woken, and checks nothing.
//
//   WHAT order N     N threads begin to wait one after the other, and are woken one by one: their
//                    numbers in the order in which they woke up
//   WHAT turns N M   each of N threads waits again as soon as it has been woken, until M have been
//                    woken, one at a time: how often each was woken
//
// WHAT is a condition variable (`cond`) or a semaphore (`sem`).
#include "../support/check.hpp"

#include <semaphore.h>

namespace {

// A condition variable or a semaphore.
struct Object {
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
  Object& object;
  std::atomic<bool> over{false};
  std::atomic<int> woken{0};
  std::vector<int> order;  // written by the woken thread, while no other runs
  std::vector<std::unique_ptr<std::atomic<bool>>> begins;
  std::vector<std::unique_ptr<check::Worker>> workers;

  explicit Waiters(Object& waited_on) : object{waited_on} {}

  void add(bool again) {
    const int number = static_cast<int>(workers.size());
    begins.push_back(std::make_unique<std::atomic<bool>>(false));
    std::atomic<bool>& begin = *begins.back();
    workers.push_back(std::make_unique<check::Worker>([this, number, again, &begin](auto& self) {
      do {
        self.about_to_block();
        begin.store(true);
        object.wait();
        if (over.load()) return;
        begin.store(false);
        order.push_back(number);
        woken.fetch_add(1);
      } while (again);
    }));
    wait_until_it_waits(workers.size() - 1);
  }

  void wait_until_it_waits(std::size_t number) {
    check::wait_until([&] { return begins[number]->load(); });
    workers[number]->wait_until_blocked();
  }

  void wake_one() {
    const int before = woken.load();
    object.wake();
    check::wait_until([&] { return woken.load() != before; });
  }
};

void order(Object& object, int count) {
  Waiters all(object);
  for (int i = 0; i < count; ++i) all.add(false);
  for (int i = 0; i < count; ++i) all.wake_one();
  for (const int number : all.order) std::printf("%d ", number);
  std::printf("\n");
}

void counts(Object& object, int count, int wakes) {
  Waiters all(object);
  for (int i = 0; i < count; ++i) all.add(true);
  for (int i = 0; i < wakes; ++i) {
    all.wake_one();
    all.wait_until_it_waits(static_cast<std::size_t>(all.order.back()));
  }
  std::vector<int> wakes_of(static_cast<std::size_t>(count));
  for (const int number : all.order) ++wakes_of[static_cast<std::size_t>(number)];
  for (const int times : wakes_of) std::printf("%d ", times);
  std::printf("\n");
  all.over = true;
  for (int i = 0; i < count; ++i) object.wake();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  static Object object{std::string(argv[1]) == "cond"};
  OK(sem_init(&object.sem, 0, 0));
  const int count = std::atoi(argv[3]);
  if (std::string(argv[2]) == "order") {
    order(object, count);
  } else {
    counts(object, count, argc > 4 ? std::atoi(argv[4]) : 0);
  }
  return 0;
}
