// Mutexes behind functions of the program's own that initialise, take and release them. With the
// argument "children" two children that it forks do all of the work; with "exec" another program.
#include <sys/wait.h>

#include <cstring>

#include "../support/check.hpp"

namespace {

struct guard {
  pthread_mutex_t mutex;
};

[[gnu::noinline]] void make(guard& one) {
  pthread_mutex_init(&one.mutex, nullptr);
  asm volatile("");
}
[[gnu::noinline]] void take(guard& one) {
  pthread_mutex_lock(&one.mutex);
  asm volatile("");
}
[[gnu::noinline]] void give(guard& one) {
  pthread_mutex_unlock(&one.mutex);
  asm volatile("");
}

void work() {
  for (int i = 0; i < 2000; ++i) {
    asm volatile("");
  }
}

struct queue {
  guard* of = nullptr;
  [[gnu::noinline]] void open() {
    of = new guard;
    make(*of);
    asm volatile("");
  }
  [[gnu::noinline]] void push() {
    take(*of);
    work();
    give(*of);
    asm volatile("");
  }
};

struct journal {
  guard* of = nullptr;
  [[gnu::noinline]] void open() {
    of = new guard;
    make(*of);
    asm volatile("");
  }
  [[gnu::noinline]] void write() {
    take(*of);
    work();
    give(*of);
    asm volatile("");
  }
};

/// Takes and releases: no wrapper, though two functions call it for two mutexes.
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
  const char* how = count > 1 ? words[1] : "";
  pthread_mutex_t seen = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&seen);
  pthread_mutex_unlock(&seen);
  if (std::strcmp(how, "children") == 0) {
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
  if (std::strcmp(how, "exec") == 0) {
    execl(words[0], words[0], nullptr);
    return 1;
  }
  all();
  return 0;
}
