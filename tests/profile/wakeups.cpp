// A program that counts and prints its futile wake-ups: those after which the predicate did not hold,
// so that the thread waited again. Its profile has to agree. Each case has its own mutex.
#include "../support/check.hpp"

namespace {

constexpr int rounds = 1000;

struct monitor {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  int turn = 0;
  int items = 0;
  int waiting = 0;
  int taken = 0;
  bool is_over = false;
  long futile = 0;
};

// A thread for each turn hands it on, within one section, and signals the next one.
monitor signalled_turns;
// Likewise, but each change wakes all three threads.
monitor broadcast_turns;
// A thread takes all items in one section, without any call but its waits; it counts what it took in
// a register or beside the mutex.
monitor items_counted_locally;
monitor items_counted_beside;
// Of eight threads that are woken for an item, each of which counts its futile wake-ups, one takes it.
monitor herd;
// Likewise, without such a count beside the mutex: each item wakes some in vain, and at the end nobody.
monitor uncounted_herd;
// Several threads that wait within one section are woken for each item.
monitor herd_in_one_section;

// Changes the state as soon as all threads wait for that, or are about to.
void once_waiting(monitor& of, int threads, const std::function<void()>& change) {
  check::wait_until_under(&of.mutex, [&] {
    if (of.waiting < threads || of.items > 0) {
      return false;
    }
    change();
    return true;
  });
}

void take_turns(monitor& of, int threads, bool all) {
  std::vector<std::thread> players;
  for (int me = 0; me < threads; ++me) {
    players.emplace_back([&of, threads, all, me] {
      OK(pthread_mutex_lock(&of.mutex));
      for (int i = 0; i < rounds; ++i) {
        while (of.turn != me) {
          pthread_cond_wait(&of.changed[all ? 0 : me], &of.mutex);
          of.futile += of.turn != me ? 1 : 0;
        }
        of.turn = (me + 1) % threads;
        if (all) {
          pthread_cond_broadcast(&of.changed[0]);
        } else {
          pthread_cond_signal(&of.changed[of.turn]);
        }
      }
      OK(pthread_mutex_unlock(&of.mutex));
    });
  }
  for (std::thread& each : players) {
    each.join();
  }
}

void give_items(monitor& of, int threads, bool all) {
  for (int i = 0; i < rounds; ++i) {
    once_waiting(of, threads, [&] {
      ++of.items;
      if (all) {
        pthread_cond_broadcast(&of.changed[0]);
      } else {
        pthread_cond_signal(&of.changed[0]);
      }
    });
  }
}

void take_items_in_one_section(monitor& of, bool beside) {
  std::thread taker([&of, beside] {
    OK(pthread_mutex_lock(&of.mutex));
    int taken = 0;
    while ((beside ? of.taken : taken) < rounds) {
      while (of.items == 0) {
        of.waiting = 1;
        pthread_cond_wait(&of.changed[0], &of.mutex);
        of.futile += of.items == 0 ? 1 : 0;
      }
      of.waiting = 0;
      --of.items;
      if (beside) {
        ++of.taken;
      } else {
        ++taken;
      }
    }
    OK(pthread_mutex_unlock(&of.mutex));
  });
  give_items(of, 1, false);
  taker.join();
}

void run_herd(monitor& of, int threads, bool counts) {
  std::vector<std::thread> takers;
  for (int i = 0; i < threads; ++i) {
    takers.emplace_back([&of, counts] {
      OK(pthread_mutex_lock(&of.mutex));
      while (!of.is_over) {
        ++of.waiting;
        while (of.items == 0 && !of.is_over) {
          pthread_cond_wait(&of.changed[0], &of.mutex);
          if (counts && of.items == 0 && !of.is_over) {
            ++of.futile;
          }
        }
        --of.waiting;
        of.items -= of.is_over ? 0 : 1;
        OK(pthread_mutex_unlock(&of.mutex));
        OK(pthread_mutex_lock(&of.mutex));
      }
      OK(pthread_mutex_unlock(&of.mutex));
    });
  }
  give_items(of, threads, true);
  once_waiting(of, threads, [&] {
    of.is_over = true;
    pthread_cond_broadcast(&of.changed[0]);
  });
  for (std::thread& each : takers) {
    each.join();
  }
}

void run_herd_in_one_section(monitor& of, int threads) {
  std::vector<std::thread> takers;
  for (int i = 0; i < threads; ++i) {
    takers.emplace_back([&of] {
      OK(pthread_mutex_lock(&of.mutex));
      ++of.waiting;
      while (!of.is_over) {
        pthread_cond_wait(&of.changed[0], &of.mutex);
        if (of.items > 0) {
          --of.items;
        } else if (!of.is_over) {
          ++of.futile;
        }
      }
      OK(pthread_mutex_unlock(&of.mutex));
    });
  }
  give_items(of, threads, true);
  once_waiting(of, threads, [&] {
    of.is_over = true;
    pthread_cond_broadcast(&of.changed[0]);
  });
  for (std::thread& each : takers) {
    each.join();
  }
}

}  // namespace

int main() {
  take_turns(signalled_turns, 2, false);
  take_turns(broadcast_turns, 3, true);
  take_items_in_one_section(items_counted_locally, false);
  take_items_in_one_section(items_counted_beside, true);
  run_herd(herd, 8, true);
  run_herd(uncounted_herd, 8, false);
  run_herd_in_one_section(herd_in_one_section, 4);
  std::printf(
      "{\"rounds\":%d,\"signalled_turns\":%ld,\"broadcast_turns\":%ld,"
      "\"items_counted_locally\":%ld,\"items_counted_beside\":%ld,\"herd\":%ld,"
      "\"herd_in_one_section\":%ld}\n",
      rounds, signalled_turns.futile, broadcast_turns.futile, items_counted_locally.futile,
      items_counted_beside.futile, herd.futile, herd_in_one_section.futile);
  return 0;
}
