#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

// A buffer of one item. Every signal is needed: while the buffer is full, producers send no other
// one. So a lost signal, for instance one consumed by a cancelled waiter, stops the phase.
struct producers_state {
  explicit producers_state(guarded& by) : mutex{by} {}

  guarded& mutex;
  condition filled{CLOCK_MONOTONIC};
  condition emptied{CLOCK_MONOTONIC};
  bool full = false;
  bool is_end = false;  // sentinel: the consumer that takes it exits
  std::uint64_t consumers = 0;
  std::uint64_t produced = 0;
  // A cancelled consumer is replaced only after another one has taken an item: a new consumer needs
  // no signal to see that the buffer is full, and would hide a lost one.
  bool waits_for_others = false;
  // Written with the mutex held, also read without it.
  std::atomic<std::uint64_t> producers{0};
  std::atomic<std::uint64_t> consumed{0};
};

void put(worker& me, producers_state& state, bool end) {
  state.mutex.lock(me);
  while (state.full) {
    state.mutex.wait(me, state.emptied);
  }
  state.full = true;
  state.is_end = end;
  state.produced += end ? 0 : 1;
  const bool early = me.draw.one_in(2);
  if (early) {
    state.filled.signal();
  }
  me.run.section(me);
  state.mutex.unlock(me);
  if (!early) {
    state.filled.signal();
  }
}

void produce(worker& me, producers_state& state) {
  while (!me.run.over()) {
    put(me, state, false);
    me.run.gap(me);
  }
  state.mutex.lock(me);
  const bool last = --state.producers == 0;
  state.mutex.unlock(me);
  for (std::uint64_t i = 0; last && i < state.consumers; ++i) {
    put(me, state, true);
  }
}

struct consumer_context {
  worker& me;
  producers_state& state;
};

// Runs when a consumer is cancelled: it has to hold the mutex.
void leave_on_cancel(void* argument) {
  const consumer_context& context = *static_cast<consumer_context*>(argument);
  if (!context.state.mutex.recursive()) {
    const int result = pthread_mutex_trylock(&context.state.mutex.mutex);
    if (result != EBUSY) {
      fail("cancellation", "a cleanup handler could trylock the mutex that it has to hold already");
    }
  }
  context.state.mutex.enter(context.me);
  context.me.run.section(context.me);
  context.state.mutex.unlock(context.me);
}

// Takes an item; returns true if it was the sentinel.
bool take(consumer_context& context) {
  producers_state& state = context.state;
  worker& me = context.me;
  int before = 0;
  state.mutex.lock(me);
  while (!state.full) {
    // The only place where a cancellation may act.
    pthread_cleanup_push(leave_on_cancel, &context);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    state.mutex.wait(me, state.filled);
    pthread_setcancelstate(before, &before);
    pthread_cleanup_pop(0);
  }
  state.full = false;
  const bool end = state.is_end;
  state.consumed += end ? 0 : 1;
  const bool early = me.draw.one_in(2);
  if (early) {
    state.emptied.signal();
  }
  me.run.section(me);
  state.mutex.unlock(me);
  if (!early) {
    state.emptied.signal();
  }
  return end;
}

void consume(worker& me, producers_state& state) {
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  consumer_context context{me, state};
  while (!take(context)) {
  }
}

// Cancels and replaces a consumer again and again.
void cancel_consumer(worker& me, producers_state& state, worker& consumer) {
  for (bool took_sentinel = false; !took_sentinel;) {
    me.run.start_helper(consumer, [&state](worker& it) { consume(it, state); });
    me.does(activity::waits_for_others);
    sleep_ns(me.draw.one_in(2) ? me.draw.below(200 * us) : me.draw.below(3 * ms));
    // A consumer that has taken the sentinel may be cancelled as well. Once the phase is over, none
    // is cancelled, because each consumer must take a sentinel.
    if (!me.run.over()) {
      pthread_cancel(consumer.thread);
    }
    took_sentinel = me.run.join_helper(consumer) != PTHREAD_CANCELED;
    const std::uint64_t before = state.consumed.load();
    while (state.waits_for_others && !took_sentinel && state.consumed.load() == before &&
           state.producers.load() != 0) {
      sleep_ns(100 * us);
    }
  }
}

}  // namespace

void producers(phase_run& on) {
  const auto state = std::make_shared<producers_state>(on.mutexes()[0]);
  state->waits_for_others = !dice(on.plan.seed).one_in(4);
  const std::uint64_t producers = std::max<std::uint64_t>(1, on.plan.threads / 4);
  state->producers = producers;
  const std::uint64_t kept = std::max<std::uint64_t>(1, on.plan.threads / 4);
  const std::uint64_t steady = std::max<std::uint64_t>(1, on.plan.threads / 4);
  state->consumers = kept + steady;
  for (std::uint64_t i = 0; i < producers; ++i) {
    on.add_worker("producer", [state](worker& me) { produce(me, *state); });
  }
  for (std::uint64_t i = 0; i < steady; ++i) {
    on.add_worker("consumer", [state](worker& me) { consume(me, *state); });
  }
  for (std::uint64_t i = 0; i < kept; ++i) {
    worker& consumer = on.add_helper("cancelled consumer");
    on.add_worker("canceller",
                  [state, &consumer](worker& me) { cancel_consumer(me, *state, consumer); });
  }
  on.afterwards([state] {
    if (state->produced != state->consumed.load()) {
      fail("producers", std::to_string(state->produced) + " items were produced, and " +
                            std::to_string(state->consumed.load()) + " consumed");
    }
  });
}

}  // namespace torture
