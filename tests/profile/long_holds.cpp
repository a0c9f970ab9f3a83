// A program whose threads wait for mutexes that are held for long: its argument says why.
#include "../support/check.hpp"

namespace {

pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;

void compute_for_us(std::int64_t us) {
  const std::int64_t end = check::nanoseconds(CLOCK_THREAD_CPUTIME_ID) + us * 1'000;
  while (check::nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

void in_threads(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back(body, i);
  }
  for (std::thread& each : all) {
    each.join();
  }
}

void hold(pthread_mutex_t& mutex, int times, const std::function<void()>& inside) {
  for (int i = 0; i < times; ++i) {
    OK(pthread_mutex_lock(&mutex));
    inside();
    OK(pthread_mutex_unlock(&mutex));
    compute_for_us(100);
  }
}

// Sleeps in each section.
CASE("sleep") {
  in_threads(4, [](int) { hold(journal, 30, [] { check::sleep_us(2'000); }); });
};

// Reads in each section what another thread writes once a millisecond.
CASE("read") {
  int ends[2];
  CHECK(pipe(ends) == 0);
  std::thread writer([&] {
    for (int i = 0; i < 4 * 30; ++i) {
      check::sleep_us(1'000);
      CHECK(write(ends[1], "x", 1) == 1);
    }
  });
  in_threads(4, [&](int) {
    hold(journal, 30, [&] {
      char byte;
      CHECK(::read(ends[0], &byte, 1) == 1);
    });
  });
  writer.join();
};

// Sleeps in one section of ten, and holds the mutex for a moment in the others.
CASE("sleep_seldom") {
  in_threads(4, [](int) {
    for (int i = 0; i < 20; ++i) {
      hold(journal, 9, [] {});
      hold(journal, 1, [] { check::sleep_us(2'000); });
    }
  });
};

// A thread keeps the mutex locked, while it sleeps or computes; another one passes through between.
void close_gate(const std::function<void()>& closed) {
  std::atomic<bool> is_over{false};
  OK(pthread_mutex_lock(&entrance));
  std::thread passing([&] {
    while (!is_over.load()) {
      OK(pthread_mutex_lock(&entrance));
      OK(pthread_mutex_unlock(&entrance));
      check::sleep_us(50);
    }
  });
  for (int i = 0; i < 10; ++i) {
    closed();
    OK(pthread_mutex_unlock(&entrance));
    check::sleep_us(300);
    OK(pthread_mutex_lock(&entrance));
  }
  is_over.store(true);
  OK(pthread_mutex_unlock(&entrance));
  passing.join();
}

// A thread is idle at the gate for the whole run.
CASE("closed_gate") {
  OK(pthread_mutex_lock(&entrance));
  std::thread idle([] {
    OK(pthread_mutex_lock(&entrance));
    OK(pthread_mutex_unlock(&entrance));
  });
  for (int i = 0; i < 50; ++i) {
    check::sleep_ms(4);
    compute_for_us(500);
  }
  OK(pthread_mutex_unlock(&entrance));
  idle.join();
};

// Threads pass the entrance all the time; another one stops them for a seventh of it.
void stop_seldom(const std::function<void()>& stop) {
  std::atomic<bool> is_over{false};
  in_threads(3, [&](int thread) {
    for (int i = 0; thread == 0 && i < 6; ++i) {
      check::sleep_ms(150);
      stop();
    }
    is_over = is_over || thread == 0;
    while (!is_over) {
      OK(pthread_mutex_lock(&entrance));
      OK(pthread_mutex_unlock(&entrance));
      compute_for_us(100);
    }
  });
}

[[gnu::noinline]] void close_entrance() { OK(pthread_mutex_lock(&entrance)); }
[[gnu::noinline]] void open_entrance() { OK(pthread_mutex_unlock(&entrance)); }

CASE("seldom_gate") {
  stop_seldom([] {
    close_entrance();
    compute_for_us(25'000);
    open_entrance();
  });
};

// The same with data that the entrance protects.
CASE("seldom_work") {
  stop_seldom([] {
    OK(pthread_mutex_lock(&entrance));
    compute_for_us(25'000);
    OK(pthread_mutex_unlock(&entrance));
  });
};

// Computes in each section, as many threads as are given.
void compute(int threads) {
  in_threads(threads, [](int) { hold(journal, 40, [] { compute_for_us(2'000); }); });
}

// Waits in the sections of one mutex for another, whose holder computes.
CASE("nest") {
  std::atomic<bool> is_over{false};
  std::thread holder([&] {
    while (!is_over.load()) {
      OK(pthread_mutex_lock(&inner));
      compute_for_us(2'000);
      OK(pthread_mutex_unlock(&inner));
      check::sleep_us(300);
    }
  });
  in_threads(3, [](int) {
    hold(outer, 60, [] {
      OK(pthread_mutex_lock(&inner));
      OK(pthread_mutex_unlock(&inner));
    });
  });
  is_over.store(true);
  holder.join();
};

CASE("gate") {
  close_gate([] { check::sleep_ms(40); });
};
CASE("busy_gate") {
  close_gate([] { compute_for_us(30'000); });
};
CASE("compute") { compute(2); };
CASE("compute_in_a_crowd") { compute(6); };

}  // namespace
