// Producers and consumers with one and with many waiters, a ring in which every lost wake-up
// hangs, and a store of tokens emptied by timed and untimed waiters.
#include "../support/check.hpp"

#include <algorithm>
#include <deque>

namespace {

// Every number is added once and removed once, in FIFO order.
std::string producer_consumer(int producers, int consumers, long at_most, bool signal_inside) {
  struct Queue {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
    pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
    std::deque<long> items;
    long produced = 0;
    bool closed = false;
    long consumed = 0;
    long long sum = 0;
  } queue;
  constexpr std::size_t capacity = 4;
  const check::Budget budget{150};
  check::in_parallel(producers + consumers, [&](int i) {
    for (;;) {
      OK(pthread_mutex_lock(&queue.mutex));
      pthread_cond_t* to_signal = nullptr;
      if (i < producers) {
        while (queue.items.size() == capacity && !queue.closed)
          OK(pthread_cond_wait(&queue.not_full, &queue.mutex));
        queue.closed = queue.closed || queue.produced == at_most || budget.spent();
        if (queue.closed) {
          OK(pthread_cond_broadcast(&queue.not_full));
          OK(pthread_cond_broadcast(&queue.not_empty));
          OK(pthread_mutex_unlock(&queue.mutex));
          return;
        }
        queue.items.push_back(queue.produced++);
        to_signal = &queue.not_empty;
      } else {
        while (queue.items.empty() && !queue.closed)
          OK(pthread_cond_wait(&queue.not_empty, &queue.mutex));
        if (queue.items.empty()) {
          OK(pthread_mutex_unlock(&queue.mutex));
          return;
        }
        const long item = queue.items.front();
        queue.items.pop_front();
        CHECK_EQ(queue.consumed, item);  // first in, first out, under the mutex
        ++queue.consumed;
        queue.sum += item;
        to_signal = &queue.not_full;
      }
      if (signal_inside) OK(pthread_cond_signal(to_signal));
      OK(pthread_mutex_unlock(&queue.mutex));
      if (!signal_inside) OK(pthread_cond_signal(to_signal));
    }
  });
  CHECK_EQ(queue.produced, queue.consumed);
  CHECK_EQ(queue.produced * (queue.produced - 1) / 2, queue.sum);
  OK(pthread_cond_destroy(&queue.not_empty));
  OK(pthread_cond_destroy(&queue.not_full));
  OK(pthread_mutex_destroy(&queue.mutex));
  return "items " + std::to_string(queue.produced);
}

// A token circulates; each thread waits on a condition variable of its own until it has the token.
// Exactly one signal is sent per round, so one lost wake-up stops the ring forever.
std::string ring(int threads, long at_most, int budget_ms, bool signal_inside) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_cond_t> conds(static_cast<std::size_t>(threads), PTHREAD_COND_INITIALIZER);
  long position = 0;
  long end = at_most;
  const check::Budget budget{budget_ms};
  check::in_parallel(threads, [&](int i) {
    for (long round = i;; round += threads) {
      OK(pthread_mutex_lock(&mutex));
      while (position != round) OK(pthread_cond_wait(&conds[static_cast<std::size_t>(i)], &mutex));
      // Once the budget is spent, the token makes one more round, unless the ring ends before.
      if (budget.spent()) end = std::min(end, position + threads);
      const bool last = position + threads >= end;
      ++position;
      pthread_cond_t* next = &conds[static_cast<std::size_t>((i + 1) % threads)];
      if (signal_inside) OK(pthread_cond_signal(next));
      OK(pthread_mutex_unlock(&mutex));
      if (!signal_inside) OK(pthread_cond_signal(next));
      if (last) return;
    }
  });
  CHECK_EQ(end, position);
  for (auto& cond : conds) OK(pthread_cond_destroy(&cond));
  return "rounds " + std::to_string(position);
}

// On one CPU every round has to put one thread to sleep and wake the other.
std::string ring_on_one_cpu(bool signal_inside) {
  const check::Confined confined{1};
  return ring(2, 20'000, 1'000, signal_inside);
}

// Each token is added with one signal; half of the takers give up and retry all the time.
CASE("tokens with impatient takers") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  long tokens = 0;
  long taken = 0;
  long put = 0;
  bool closed = false;
  std::atomic<long> timeouts{0};
  constexpr int takers = 4;
  const check::Budget budget{250};
  check::in_parallel(takers + 1, [&](int i) {
    if (i == takers) {
      check::Random random{21};
      while (!budget.spent()) {
        OK(pthread_mutex_lock(&mutex));
        ++tokens;
        ++put;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
        if (random.below(4) != 0) check::sleep_us(static_cast<long>(random.below(300)));
      }
      // The signals alone, without a broadcast, must let the takers remove all tokens.
      check::wait_until_under(&mutex, [&] { return tokens == 0; });
      OK(pthread_mutex_lock(&mutex));
      closed = true;
      OK(pthread_cond_broadcast(&cond));
      OK(pthread_mutex_unlock(&mutex));
      return;
    }
    OK(pthread_mutex_lock(&mutex));
    for (;;) {
      while (tokens == 0 && !closed) {
        if (i % 2 == 0) {
          OK(pthread_cond_wait(&cond, &mutex));
        } else {
          const timespec soon = check::to_timespec(check::nanoseconds(CLOCK_REALTIME) + 150'000);
          const int result = pthread_cond_timedwait(&cond, &mutex, &soon);
          CHECK(result == 0 || result == ETIMEDOUT);
          timeouts += result == ETIMEDOUT ? 1 : 0;
        }
      }
      if (tokens == 0) break;
      --tokens;
      ++taken;
    }
    OK(pthread_mutex_unlock(&mutex));
  });
  CHECK_EQ(0, tokens);
  CHECK_EQ(put, taken);
  return "tokens " + std::to_string(put) + " timeouts " + std::to_string(timeouts.load());
};

CASE("one consumer") { return producer_consumer(1, 1, 5'000, true); };
CASE("many consumers") { return producer_consumer(2, 4, 1'500, true); };
CASE("signal after unlock") { return producer_consumer(2, 3, 1'500, false); };
CASE("ring of two") { return ring(2, 100'000, 5'000, true); };
CASE("ring of two signalled outside") { return ring(2, 30'000, 1'000, false); };
CASE("ring on one cpu") { return ring_on_one_cpu(true); };
CASE("ring on one cpu signalled outside") { return ring_on_one_cpu(false); };
CASE("ring of eight") { return ring(8, 10'000, 300, true); };

}  // namespace
