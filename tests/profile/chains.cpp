// Chains of waits whose end is known: its case says which. Each thread has a function of its own.
#include "../support/check.hpp"

struct held {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> is_held{false};
};
held first;
held second;
held third;
held table;
pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t jobs = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t book = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t meeting;
std::atomic<bool> is_written{false};

namespace {

constexpr int rounds = 60;
using function = void* (*)(void*);

void compute() {
  const std::int64_t end = check::nanoseconds(CLOCK_THREAD_CPUTIME_ID) + 40'000'000;
  while (check::nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

void sleep() { check::sleep_us(40'000); }

void await(const std::atomic<bool>& flag, bool value = true) {
  while (flag != value) {
    sched_yield();
  }
}

/// Also if the mutex is free again by then.
void await_held(held& of) {
  await(of.is_held);
  of.is_held = false;
}

pthread_t begin(function body) {
  pthread_t thread{};
  OK(pthread_create(&thread, nullptr, body, nullptr));
  return thread;
}

void* hold_and_compute(void* /*unused*/) {
  OK(pthread_mutex_lock(&third.mutex));
  third.is_held = true;
  compute();
  OK(pthread_mutex_unlock(&third.mutex));
  return nullptr;
}

void* hold_and_sleep(void* /*unused*/) {
  OK(pthread_mutex_lock(&third.mutex));
  third.is_held = true;
  sleep();
  OK(pthread_mutex_unlock(&third.mutex));
  return nullptr;
}

void* hold_second(void* /*unused*/) {
  OK(pthread_mutex_lock(&second.mutex));
  second.is_held = true;
  OK(pthread_mutex_lock(&third.mutex));
  OK(pthread_mutex_unlock(&third.mutex));
  OK(pthread_mutex_unlock(&second.mutex));
  return nullptr;
}

void* hold_first(void* /*unused*/) {
  OK(pthread_mutex_lock(&first.mutex));
  first.is_held = true;
  OK(pthread_mutex_lock(&second.mutex));
  OK(pthread_mutex_unlock(&second.mutex));
  OK(pthread_mutex_unlock(&first.mutex));
  return nullptr;
}

void* wait_for_first(void* /*unused*/) {
  OK(pthread_mutex_lock(&first.mutex));
  OK(pthread_mutex_unlock(&first.mutex));
  return nullptr;
}

/// The fourth thread waits for the first mutex, whose holder waits for the second, and so on.
void pass_through_three(function last) {
  for (int i = 0; i < rounds; ++i) {
    pthread_t threads[4];
    threads[3] = begin(last);
    await_held(third);
    threads[2] = begin(hold_second);
    await_held(second);
    threads[1] = begin(hold_first);
    await_held(first);
    threads[0] = begin(wait_for_first);
    for (const pthread_t each : threads) {
      OK(pthread_join(each, nullptr));
    }
  }
}

std::atomic<bool> is_put{false};
int items = 0;

void* hold_table(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    OK(pthread_mutex_lock(&table.mutex));
    table.is_held = true;
    compute();
    OK(pthread_mutex_unlock(&table.mutex));
    await(is_put);
    is_put = false;
  }
  return nullptr;
}

void* produce(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    await_held(table);
    OK(pthread_mutex_lock(&table.mutex));
    OK(pthread_mutex_unlock(&table.mutex));
    OK(pthread_mutex_lock(&queue));
    ++items;
    OK(pthread_cond_signal(&jobs));
    OK(pthread_mutex_unlock(&queue));
    is_put = true;
    await(is_put, false);
  }
  return nullptr;
}

void* consume(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    OK(pthread_mutex_lock(&queue));
    while (items == 0) {
      OK(pthread_cond_wait(&jobs, &queue));
    }
    --items;
    OK(pthread_mutex_unlock(&queue));
  }
  return nullptr;
}

void* write_book(void* /*unused*/) {
  OK(pthread_rwlock_wrlock(&book));
  is_written = true;
  sleep();
  OK(pthread_rwlock_unlock(&book));
  return nullptr;
}

void* read_book(void* /*unused*/) {
  OK(pthread_rwlock_rdlock(&book));
  OK(pthread_rwlock_unlock(&book));
  return nullptr;
}

void* come_early(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    pthread_barrier_wait(&meeting);
  }
  return nullptr;
}

void* come_late(void* /*unused*/) {
  for (int i = 0; i < rounds; ++i) {
    compute();
    pthread_barrier_wait(&meeting);
  }
  return nullptr;
}

void join_all(const std::vector<pthread_t>& threads) {
  for (const pthread_t each : threads) {
    OK(pthread_join(each, nullptr));
  }
}

}  // namespace

CASE("computes") { pass_through_three(hold_and_compute); };
CASE("sleeps") { pass_through_three(hold_and_sleep); };

// A consumer waits for a producer, which waits for a mutex.
CASE("queue") { join_all({begin(consume), begin(produce), begin(hold_table)}); };

// Readers wait for a writer that sleeps.
CASE("book") {
  for (int i = 0; i < rounds; ++i) {
    const pthread_t writer = begin(write_book);
    await(is_written);
    is_written = false;
    join_all({begin(read_book), begin(read_book), writer});
  }
};

// Two threads wait at a barrier for one that computes.
CASE("meeting") {
  OK(pthread_barrier_init(&meeting, nullptr, 3));
  join_all({begin(come_early), begin(come_early), begin(come_late)});
};
