// Mutexes behind wrappers that initialise, acquire and release them. With the argument "children" two
// forked children do all of the work; with "exec" another program does.
#include <sys/wait.h>

#include <cstring>

#include "../support/check.hpp"

namespace {

struct guard {
  pthread_mutex_t mutex;
};

[[gnu::noinline]] void make(guard& wrapped) {
  pthread_mutex_init(&wrapped.mutex, nullptr);
  asm volatile("");
}
[[gnu::noinline]] void take(guard& wrapped) {
  pthread_mutex_lock(&wrapped.mutex);
  asm volatile("");
}
[[gnu::noinline]] void give(guard& wrapped) {
  pthread_mutex_unlock(&wrapped.mutex);
  asm volatile("");
}

void work() {
  for (int i = 0; i < 2000; ++i) {
    asm volatile("");
  }
}

struct queue {
  guard* lock = nullptr;
  [[gnu::noinline]] void open() {
    lock = new guard;
    make(*lock);
    asm volatile("");
  }
  [[gnu::noinline]] void push() {
    take(*lock);
    work();
    give(*lock);
    asm volatile("");
  }
};

struct journal {
  guard* lock = nullptr;
  [[gnu::noinline]] void open() {
    lock = new guard;
    make(*lock);
    asm volatile("");
  }
  [[gnu::noinline]] void write() {
    take(*lock);
    work();
    give(*lock);
    asm volatile("");
  }
};

/// Its function acquires and releases, and is therefore not a wrapper, though it serves two mutexes.
struct account {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  [[gnu::noinline]] void add() {
    pthread_mutex_lock(&mutex);
    work();
    pthread_mutex_unlock(&mutex);
    asm volatile("");
  }
};

queue the_queue;
journal the_journal;
account* accounts[2];

void work_on_all() {
  for (int i = 0; i < 12000; ++i) {
    the_queue.push();
    the_journal.write();
    accounts[i % 2]->add();
  }
}

void all() {
  the_queue.open();
  the_journal.open();
  for (account*& each : accounts) {
    each = new account;
  }
  std::thread other(work_on_all);
  work_on_all();
  other.join();
}

}  // namespace

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "";
  pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  if (std::strcmp(mode, "children") == 0) {
    for (int i = 0; i < 2; ++i) {
      if (fork() == 0) {
        all();
        _exit(0);
      }
    }
    while (wait(nullptr) > 0) {
    }
    return 7;
  }
  if (std::strcmp(mode, "exec") == 0) {
    execl(words[0], words[0], nullptr);
    return 1;
  }
  all();
  return 0;
}
